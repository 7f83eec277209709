const shapes = { app: /^[A-Za-z0-9_-]{1,64}$/, key: /^\d{1,20}$/ } as const

/**
 * Keys and apps stand in statements as literals, so that the primary key is used (clickhouse/README.md). Throws a TypeError for
 * one of another shape.
 */
export const keyList = (ranges: readonly { match_key: string }[]): string =>
  [...new Set(ranges.map(({ match_key }) => checked(match_key, shapes.key)))].join(',')

/** See `keyList`. */
export const appList = (app_ids: readonly string[]): string =>
  app_ids.map((app_id) => `'${checked(app_id, shapes.app)}'`).join(',')

function checked(text: string, shape: RegExp): string {
  if (!shape.test(text)) throw new TypeError(`not a literal: ${text}`)
  return text
}
