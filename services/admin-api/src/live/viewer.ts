import type { FeedItem } from '@tributary/contracts/admin/live/feed'
import type { FollowMessage } from '@tributary/contracts/admin/live/follow'
import type { LiveFilter, LiveItem, LiveMessage } from '@tributary/contracts/admin/live/live'
import { limits } from '@tributary/contracts/limits'
import type { FeedViewer } from './feed-readers.ts'

/** An item of a feed with its texts, which all viewers of an app share. */
export interface Shown {
  item: FeedItem
  /** The message for owners and admins, and for others. */
  full: string
  limited: string
}

/** Where the messages of a viewer go. */
export interface Outlet {
  write(text: string): void
  /** Characters that were written and not yet taken. */
  waiting(): number
}

interface ViewerOptions {
  filter: LiveFilter
  /** Whether raw JSON and addresses are shown. */
  full: boolean
  elapsed: () => number
  outlet: Outlet
}

/** Shows what fits a filter, at most `live_events_per_s_max` a second; what it leaves out it counts, and says so. */
export function createViewer({ filter, full, elapsed, outlet }: ViewerOptions): FeedViewer<Shown> {
  const allows = createAllowance(elapsed)
  let gap = 0

  return {
    take(shown, missed) {
      gap += missed
      const fitting = shown.filter(({ item }) => fits(filter, item))
      if (outlet.waiting() > limits.live_waiting_chars_max) {
        gap += fitting.length
        return
      }
      const allowed = fitting.filter(({ item }) => allows(item.unproven))
      gap += fitting.length - allowed.length
      const texts = allowed.map((one) => (full ? one.full : one.limited))
      if (gap > 0) texts.push(toMessage({ kind: 'gap', gap }))
      gap = 0
      if (texts.length > 0) outlet.write(texts.join(''))
    },
  }
}

/** A message of a stream, as server-sent events are written. JSON holds no line break. */
export const toMessage = (message: LiveMessage | FollowMessage): string => `data: ${JSON.stringify(message)}\n\n`

export function toShown(item: FeedItem): Shown {
  const { ip: _ip, raw: _raw, ...limited } = item
  return { item, full: toMessage(item), limited: toMessage(limited) }
}

export const fits = (
  { install, name, code }: LiveFilter,
  item: Pick<LiveItem, 'event_name' | 'code'> & { install_uuid?: string | null },
): boolean =>
  (install === undefined || item.install_uuid === install) &&
  (name === undefined || item.event_name === name) &&
  (code === undefined || item.code === code)

/** Counts what is shown in each second. */
function createAllowance(elapsed: () => number) {
  let second = -1
  let all = 0
  let unproven = 0
  return (is_unproven: boolean): boolean => {
    const now_second = Math.floor(elapsed() / 1000)
    if (now_second !== second) [second, all, unproven] = [now_second, 0, 0]
    if (all >= limits.live_events_per_s_max) return false
    if (is_unproven && unproven >= limits.live_unproven_per_s_max) return false
    all += 1
    if (is_unproven) unproven += 1
    return true
  }
}
