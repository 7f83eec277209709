import { errorCatalogue, rejectReasons } from '../../errors.ts'
import type { LiveItem } from './live.ts'

/** What one gateway writes to the feed of an app at a time: JSON of a text in its ring. */
export interface FeedWrite {
  /** The gateway since it began to write for the app. */
  from: string
  /** Events and refusals that it had counted when it last wrote, and now. `items` are some of those between. */
  before: number
  total: number
  items: Required<LiveItem>[]
}

/** Ring of the feed of an app. */
export const feedKey = (app_id: string): string => `live:${app_id}`

/** Ring in which watchers name the apps that they watch: each text is a JSON array of ids. */
export const watched_key = 'live watched'

/** Ring of kept refusals. Those that no signature proves are kept apart, so that strangers push out nothing else. */
export const refusalsKey = (app_id: string, code: string, unproven: boolean): string =>
  `refusals:${app_id}:${code}${unproven ? ':unproven' : ''}`

const doors: readonly string[] = ['sdk', 's2s', 'any']

/** The codes with which the request or an event of an app may be refused. */
export const refusalCodes: readonly string[] = [
  ...new Set([
    ...errorCatalogue.filter(({ surfaces }) => surfaces.some((one) => doors.includes(one))).map(({ code }) => code),
    ...rejectReasons,
  ]),
]
