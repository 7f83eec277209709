/** A window of clicks of an app. */
export interface ClickWindow {
  app_id: string
  since_ms: number
  /** Exclusive. */
  until_ms: number
}

/** By how much the time in a click id may differ from the time of its click. */
const slack_ms = 3600 * 1000

/** The first text of a UUIDv7 of this time. */
function firstId(at_ms: number): string {
  const hex = Math.max(0, at_ms).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}`
}

/** Click ids begin with their time and the table is in their order, so these keep the number of read rows small. */
export const clickParams = (window: ClickWindow) => ({
  ...window,
  first_id: firstId(window.since_ms - slack_ms),
  last_id: firstId(window.until_ms + slack_ms),
})

/** SQL condition for the clicks of a window, with `clickParams`. */
export const inClickWindow = `app_id = {app_id:String} AND click_id >= {first_id:String} AND click_id < {last_id:String}
  AND c.clicked_at_ms >= {since_ms:Int64} AND c.clicked_at_ms < {until_ms:Int64}`
