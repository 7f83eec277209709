import { textLiteral } from '@tributary/clickhouse/literals'
import { type RawTableName, rawTables } from '@tributary/contracts/raw-tables'

/** A window of `stored_at_ms` of an app: the start is in it, the end is not. */
export interface RawWindow {
  app_id: string
  since_ms: number
  until_ms: number
}

/** The tables of raw data that ClickHouse holds. */
type StoredName = Exclude<RawTableName, 'erasures'>

interface StoredTable {
  /** With `FINAL` where the table is a set. */
  from: string
  where?: string
  /** SQL of the columns that the table does not have. */
  columns?: Readonly<Record<string, string>>
}

const ofClick = (field: string) => `JSONExtractString(click, ${textLiteral(field)})`
const clickFields = [
  'link_id',
  'ad_group',
  'creative',
  'ext_click_id',
  'country',
  'sub1',
  'sub2',
  'sub3',
  'sub4',
  'sub5',
]

/**
 * `PREWHERE` is before `FINAL`: right here, since a row that is written again has the time of storing of the first. A verdict that
 * replaces another has a later one, and the one before is in its own window until the engine merges both.
 */
const stored: Record<StoredName, StoredTable> = {
  events: { from: 'events_raw_v1' },
  clicks: {
    from: 'clicks_raw_v1 FINAL',
    columns: Object.fromEntries(clickFields.map((field) => [field, ofClick(field)])),
  },
  installs: { from: 'installs_v1 FINAL', where: 'sign = 1' },
  receipts: {
    from: 'receipts_v1 FINAL',
    columns: {
      price_source: `multiIf(has_money = 0 OR verdict IN ('invalid', 'sandbox'), '', source = 'store' OR notEmpty(price_currency), 'store', 'event')`,
      price_micros: `if(notEmpty(price_currency), price_micros, NULL)`,
      revenue_micros: `if(has_money = 1, amount_micros, NULL)`,
    },
  },
}

/** The rows of a window, with the declared columns. */
export function rawSql(name: StoredName, { app_id, since_ms, until_ms }: RawWindow): string {
  const { from, where = '1', columns = {} }: StoredTable = stored[name]
  const names = Object.keys(rawTables[name].row.shape)
  const list = names.map((column) => (column in columns ? `${columns[column]} AS ${column}` : column))
  return `SELECT ${list.join(', ')} FROM ${from}
    PREWHERE stored_at_ms >= ${Number(since_ms)} AND stored_at_ms < ${Number(until_ms)}
    WHERE app_id = ${textLiteral(app_id)} AND ${where}`
}
