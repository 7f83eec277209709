import { errorCatalogue, rejectReasons } from '../../errors.ts'
import type { LiveItem } from './live.ts'

/** An event or a refusal in the feed of an app. */
export type FeedItem = Required<LiveItem>

/** A write of one gateway to the feed of an app or a link; a text of the ring holds it as JSON. */
export interface FeedWrite<Item = FeedItem> {
  /** The gateway since it began to write for the app. */
  from: string
  /** Events and refusals, or clicks, that it had counted at its last write, and now. `items` are some of those between. */
  before: number
  total: number
  items: Item[]
}

/** Ring of the feed of an app. */
export const feedKey = (app_id: string): string => `live:${app_id}`

/** Ring in which watchers name the apps that they watch: each text is a JSON array of ids. */
export const watched_key = 'live watched'

/** Ring of the clicks on a link. */
export const clicksKey = (link_id: string): string => `clicks:${link_id}`

/** Ring in which watchers name the links that they follow, as in `watched_key`. */
export const followed_key = 'live followed'

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
