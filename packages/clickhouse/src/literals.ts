/**
 * A text as a literal of SQL: the only function that quotes. Use parameters for values of one row. Use literals where parameters fail: a
 * server takes parameters of 128 KiB at most (`http_max_field_value_size`), only constant sets use a primary key (clickhouse/README.md), and
 * in the embedded engine a statement with parameters waits for reports.
 */
export const textLiteral = (value: string): string => `'${value.replaceAll(/[\\']/g, '\\$&')}'`

/** Distinct texts as literals, for the brackets of `IN (...)`. */
export const textLiterals = (values: Iterable<string>): string => [...new Set(values)].map(textLiteral).join(',')

/**
 * Unsigned 64-bit decimals as one array, for use after `IN`: as single literals the parser would take 2 us for each. Throws a TypeError
 * for a text that is no such number.
 */
export const keySet = (keys: Iterable<string>): string =>
  `CAST('[${Array.from(keys, unsigned).join(',')}]', 'Array(UInt64)')`

/** An unsigned decimal of at most 20 digits as it may stand in a statement. Throws a TypeError for any other text. */
export function unsigned(text: string): string {
  if (!/^\d{1,20}$/.test(text)) throw new TypeError('a number has another shape')
  return text
}
