import { clickIdShape } from '@tributary/contracts/attribution/click'
import { idShape } from '@tributary/contracts/envelope'

/** No value of these shapes ends a literal of SQL. */
const shapes = {
  app_id: idShape,
  audit_key: /^[A-Za-z0-9._/-]{1,300}$/,
  click_id: clickIdShape,
  day: /^\d{4}-\d\d-\d\d$/,
  install_uuid: idShape,
  match_key: /^\d{1,20}$/,
  part: /^[\w-]{1,300}$/,
  topic: /^[A-Za-z0-9._@-]{1,300}$/,
} as const

/**
 * Values as a list of SQL literals. Throws a TypeError for a value of another shape. Lists stand in the statement, because a
 * ClickHouse server takes parameters of 128 KiB at most (`http_max_field_value_size`). Consumers write all values that way:
 * in the embedded engine a statement with parameters waits for reports.
 */
export function literals(column: keyof typeof shapes, values: Iterable<string>): string {
  return [...values].map((value) => `'${checked(column, value)}'`).join(',')
}

/** A value that may stand in a statement. Throws a TypeError for one of another shape. */
export function checked(column: keyof typeof shapes, value: string): string {
  if (!shapes[column].test(value)) throw new TypeError(`${column} has another shape`)
  return value
}

/** Match keys as one SQL literal: an array is read faster than a list. Throws a TypeError for one of another shape. */
export const keySet = (match_keys: Iterable<string>): string =>
  `CAST('[${[...match_keys].map((key) => checked('match_key', key)).join(',')}]', 'Array(UInt64)')`
