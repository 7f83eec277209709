import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import type { StampSource } from '@tributary/contracts/report-tables'
import { ofApps } from '@tributary/contracts/tables'
import { addStamps } from './bump-stamps.ts'
import { insertSelect } from './insert-select.ts'
import { done_day, marks_app } from './sql/filled.ts'

/** Rows pass through in blocks of so many, since a day may have more than there is memory. */
const block_rows_max = 200_000
/** Rows that one statement copies, unless one day has more: a server ends what takes minutes, and a month may be as large as it likes. */
const statement_rows_max = 1_000_000

interface Copy {
  source: StampSource
  from: string
  /** A set: a row that is copied twice is there once. The views behind it add the stamps. */
  to: string
  columns: string
  select: string
}

const copies: readonly Copy[] = [
  {
    source: 'money',
    from: 'revenue_raw_v1',
    to: 'money_days_v1',
    columns: 'app_id, install_key, day',
    select: 'app_id, sipHash64(install_uuid) AS install_key, day',
  },
  {
    source: 'activity',
    from: 'activity_per_day_v1',
    to: 'activity_by_day_v1',
    columns: 'app_id, day, install_key, min_ts_ms, max_ts_ms',
    select: 'app_id, day, sipHash64(install_uuid) AS install_key, min_ts_ms, max_ts_ms',
  },
  {
    source: 'installs',
    from: 'installs_by_day_v1',
    to: 'installs_by_key_v1',
    columns: 'app_id, install_key, row_key, sign, day, installed_at_ms, partner, reinstall',
    select:
      'app_id, install_key, sipHash64(topic, partition, offset) AS row_key, sign, day, installed_at_ms, partner, reinstall',
  },
]

/** Days with data from before there were stamps. Each gets one, because the settler finds no day without a stamp. */
const seeds = `
  SELECT app_id, arrayJoin(['activity', 'uniques']) AS source, day FROM events_per_day_v1 WHERE ${ofApps}
  UNION DISTINCT SELECT app_id, 'installs', day FROM installs_by_day_v1
  UNION DISTINCT SELECT app_id, 'money', day FROM revenue_raw_v1`

/**
 * Copies what an earlier version stored into the tables that settled figures need, month by month, and gives all of it stamps.
 * May be killed and repeated at any time. Nothing may be settled before it is done: a changed verdict would not find the days of
 * money of its install. Reports are exact meanwhile, since they read the tables of the earlier version too.
 */
export async function backfill(clickhouse: Clickhouse, rows_max = statement_rows_max): Promise<void> {
  const marks = await readMarks(clickhouse)
  if (marks.has(`money/${done_day}`)) return
  // 1. Each month of a table, then its mark. A crash in between: the month is copied again.
  for (const copy of copies) {
    for (const [month, days] of await monthsOf(clickhouse, copy.from)) {
      if (marks.has(`${copy.source}/${month}`)) continue
      for (const slice of cutDays(days, rows_max)) await copyDays(clickhouse, copy, slice)
      await mark(clickhouse, copy.source, month)
    }
  }
  // 2. Each day gets a stamp. A crash now: it gets one more later, and is settled once more.
  await insertSelect(
    clickhouse,
    [seeds],
    `INSERT INTO report_stamps_v1 (app_id, source, day, rows) SELECT app_id, source, day, 1 FROM (${seeds})`,
  )
  // 3. Reports need the old table no more. A crash now, before the last mark: it is emptied once more.
  await clickhouse.command('TRUNCATE TABLE activity_per_day_v1')
  await mark(clickhouse, 'money', done_day)
}

async function readMarks(clickhouse: Clickhouse): Promise<Set<string>> {
  const found = await clickhouse.query<{ mark: string }>(
    `SELECT DISTINCT concat(source, '/', toString(day)) AS mark FROM report_stamps_v1 WHERE app_id = '${marks_app}'`,
  )
  return new Set(found.map(({ mark: one }) => one))
}

const mark = (clickhouse: Clickhouse, source: StampSource, day: string) =>
  addStamps(clickhouse, [{ app_id: marks_app, source, day, rows: 1 }], `backfill/${randomUUID()}`)

interface StoredDay {
  date: string
  rows: number
}

/** The days of a table, by the first day of their month. */
async function monthsOf(clickhouse: Clickhouse, table: string): Promise<Map<string, StoredDay[]>> {
  const days = await clickhouse.query<StoredDay>(
    `SELECT toString(t.day) AS date, count() AS rows FROM ${table} AS t GROUP BY t.day ORDER BY date`,
  )
  return Map.groupBy(days, ({ date }) => `${date.slice(0, 7)}-01`)
}

/** First and last of some neighbouring days. */
interface Slice {
  from: string
  to: string
  rows: number
}

function cutDays(days: readonly StoredDay[], rows_max: number): Slice[] {
  const slices: Slice[] = []
  for (const { date, rows } of days) {
    const last = slices.at(-1)
    if (last !== undefined && last.rows + rows <= rows_max) Object.assign(last, { to: date, rows: last.rows + rows })
    else slices.push({ from: date, to: date, rows })
  }
  return slices
}

async function copyDays(clickhouse: Clickhouse, { from: table, to, columns, select }: Copy, slice: Slice) {
  await insertSelect(
    clickhouse,
    [table],
    `INSERT INTO ${to} (${columns}) SELECT ${select} FROM ${table}
     WHERE day BETWEEN toDate(${textLiteral(slice.from)}) AND toDate(${textLiteral(slice.to)})`,
    { max_insert_block_size: block_rows_max, min_insert_block_size_rows: block_rows_max },
  )
}
