import { clickIdShape } from '@tributary/contracts/attribution/click'

/** No value of these shapes ends a literal of SQL. */
const shapes = {
  app_id: /^[A-Za-z0-9_-]{1,64}$/,
  click_id: clickIdShape,
  day: /^\d{4}-\d\d-\d\d$/,
  install_uuid: /^[A-Za-z0-9_-]{1,64}$/,
  match_key: /^\d{1,20}$/,
  topic: /^[A-Za-z0-9._@-]{1,300}$/,
} as const

/**
 * Values as a list of SQL literals. Throws a TypeError for a value of another shape. Lists stand in the statement, because a
 * ClickHouse server takes parameters of 128 KiB at most (`http_max_field_value_size`). Consumers write all values that way:
 * in the embedded engine a statement with parameters waits for reports.
 */
export function literals(column: keyof typeof shapes, values: Iterable<string>): string {
  const quoted = [...values].map((value) => {
    if (!shapes[column].test(value)) throw new TypeError(`${column} has another shape`)
    return `'${value}'`
  })
  return quoted.join(',')
}
