import { CodedError } from '@tributary/contracts/errors'
import { day_ms, limits } from '@tributary/contracts/limits'

export interface RowWindow {
  since_ms: number
  /** Exclusive. */
  until_ms: number
}

/** The window of a query for rows. Throws `invalid_field`. */
export function windowOf(
  given: { [Edge in keyof RowWindow]?: number | undefined },
  now_ms: number,
  length_ms: number = limits.report_window_default_ms,
): RowWindow {
  const { until_ms = now_ms, since_ms = until_ms - length_ms } = given
  const wrong = (message: string) => new CodedError('invalid_field', { field: 'since_ms', message })
  if (since_ms >= until_ms) throw wrong('It must be before until_ms.')
  if (until_ms - since_ms > limits.report_window_days_max * day_ms)
    throw wrong(`The window may be ${limits.report_window_days_max} days long at most.`)
  return { since_ms, until_ms }
}

/** The place in a list behind which the next page begins: the time and the id of its last row. */
export interface RowPlace {
  at_ms: number
  id: string
}

/** The page of a list from rows of which one more was read, and the cursor of the next. */
export function pageOf<Row>(rows: readonly Row[], limit: number, placeOf: (row: Row) => RowPlace) {
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
  if (last === undefined) return { page, next_cursor: null }
  const { at_ms, id } = placeOf(last)
  return { page, next_cursor: `${at_ms}.${id}` }
}

/** Throws `invalid_field`. */
export function readCursor(cursor: string | undefined): RowPlace | null {
  if (cursor === undefined) return null
  const [, at, id] = /^(\d{1,15})\.([A-Za-z0-9_-]{1,64})$/.exec(cursor) ?? []
  if (at !== undefined && id !== undefined) return { at_ms: Number(at), id }
  throw new CodedError('invalid_field', { field: 'cursor', message: 'It must be next_cursor of the page before.' })
}
