import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { copySettings } from '@tributary/clickhouse/insert-settings'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { mutate } from '@tributary/clickhouse/mutate'
import { memorySettings, settingsSql } from '@tributary/clickhouse/settings-sql'
import { storedEventColumns } from '@tributary/contracts/rows'
import { derivedFromEvents, derivedOf, ofApps, type TableName, tableNames } from '@tributary/contracts/tables'
import { installKeyDay } from '@tributary/domain/event-key'
import { isKeptSql, readRawExpired } from '@tributary/tables/events/raw-expired'
import { beingErased, rowsToRefill } from '@tributary/tables/repair/refill-tables'
import { databaseOf, rebuild_token } from './scratch.ts'

interface Databases {
  live: Clickhouse
  scratch: Clickhouse
}

const memory_bytes_max = 2_000_000_000
const settings = settingsSql({ ...copySettings, ...memorySettings(memory_bytes_max) })
/** Rows of the live table that one statement compares, unless a day of an app has more. */
const slice_rows_max = 1_000_000

/** Tables that say what of the others counts: what was erased, what expired, and what receipts chose. */
const copied = [
  'erased_events_v1',
  'erased_claims_v1',
  'raw_expired_v1',
  'revenue_chosen_v1',
] as const satisfies TableName[]

/**
 * Copies what the audit store does not have and what the rebuilt tables follow: the tables above, and the rows of days whose raw events
 * retention has deleted. Once: it empties all tables before.
 */
export async function copyFacts({ live, scratch }: Databases): Promise<void> {
  const from = await databaseOf(live)
  for (const table of tableNames) if (table !== 'schema_migrations_v1') await scratch.command(`TRUNCATE TABLE ${table}`)
  for (const table of copied) await copy(scratch, table, `SELECT * FROM ${from}.${table}`)
  const expired = await readRawExpired(scratch)
  const refilledOf = await rowsToRefill(scratch, expired)
  // What views make of these rows they make again.
  const direct = derivedFromEvents.filter((table) => derivedOf(table).from === 'events_raw_v1')
  for (const table of [...direct, 'revenue_cancelled_v1']) {
    const refilled = refilledOf(table)
    if (refilled === null) continue
    const hasApps = derivedFromEvents.some((one) => one === table && derivedOf(one).known_by === 'counted')
    const where = `NOT ${refilled} AND ${hasApps ? ofApps : '1'}`
    await copy(scratch, table, `SELECT * FROM ${from}.${table} WHERE ${where}`)
  }
}

/**
 * Copies rows that the live tables alone have: of objects that were deleted or can't be read, and of events whose id no object names. So
 * a rebuild loses nothing. May be repeated.
 */
export async function carryOver({ live, scratch }: Databases): Promise<void> {
  const from = await databaseOf(live)
  await carryEvents(live, scratch, from)
  const isIn = (what: string, table: string, day: string) => `${what} IN (SELECT ${what} FROM ${table} WHERE ${day})`
  const click = '(app_id, click_id)'
  await carryDays(live, scratch, 'clicks_raw_v1', (day) => `NOT ${isIn(click, 'clicks_raw_v1', day)}`)
  const postback = '(audit_key, received_at_ms, SHA256(body))'
  const place = '(topic, partition, offset)'
  await carryDays(live, scratch, 'postbacks_raw_v1', (day) => `NOT ${isIn(postback, 'postbacks_raw_v1', day)}`)
  await carryDays(
    live,
    scratch,
    'postbacks_decoded_v1',
    (day) => `${isIn(place, 'postbacks_raw_v1', day)} AND NOT ${isIn(place, 'postbacks_decoded_v1', day)}`,
  )
}

/** Copies the rows of a live table for which a condition holds, day after day, since the engine keeps the rows of a comparison in memory. */
async function carryDays(live: Clickhouse, scratch: Clickhouse, table: string, where: (day: string) => string) {
  const from = await databaseOf(live)
  const days = await live.query<{ on: string }>(`SELECT DISTINCT toString(day) AS on FROM ${table} ORDER BY on`)
  for (const { on } of days) {
    const day = `day = ${textLiteral(on)}`
    await copy(scratch, table, `SELECT * FROM ${from}.${table} WHERE ${day} AND ${where(day)}`)
  }
}

/**
 * Takes `events_received_per_day_v1` over for apps with expired days: it counts expired events by the day on which they were received, and
 * nothing else does. May be repeated; to be called when all else is made.
 */
export async function carryReceived({ live, scratch }: Databases): Promise<void> {
  const table = 'events_received_per_day_v1'
  const apps = [...(await readRawExpired(scratch)).keys()]
  if (apps.length === 0) return
  const where = `app_id IN (${textLiterals(apps)})`
  await mutate(scratch, { table, action: 'DELETE', where, signal: new AbortController().signal })
  await copy(scratch, table, `SELECT * FROM ${await databaseOf(live)}.${table} WHERE ${where}`)
}

interface Slice {
  app_id: string
  first: string
  last: string
  rows: number
}

/** Events whose key the rebuilt table has on no day that makes them duplicates. Retention is about to delete those of expired days. */
async function carryEvents(live: Clickhouse, scratch: Clickhouse, from: string): Promise<void> {
  const columns = storedEventColumns.join(', ')
  const isKept = isKeptSql(await readRawExpired(scratch), 'day')
  for (const { app_id, first, last } of await cutSlices(live)) {
    const app = textLiteral(app_id)
    const [since, until] = [first, last].map((day) => `toDate(${textLiteral(day)})`)
    const isNear = `(key_day BETWEEN ${since} - 1 AND ${until} + 1 OR key_day = ${textLiteral(installKeyDay)})`
    await copy(
      scratch,
      `events_raw_v1 (${columns})`,
      `SELECT ${columns} FROM ${from}.events_raw_v1 AS t
       WHERE app_id = ${app} AND day BETWEEN ${since} AND ${until} AND ${isKept} AND NOT ${beingErased}
         AND (event_key, key_day) NOT IN (
           SELECT event_key, arrayJoin([key_day - 1, key_day, key_day + 1]) FROM event_keys_v1
           WHERE app_id = ${app} AND ${isNear})
       ORDER BY topic, partition, offset LIMIT 1 BY event_key, key_day`,
    )
  }
}

/** Days of an app with about as many rows as one statement may compare. */
async function cutSlices(live: Clickhouse): Promise<Slice[]> {
  const days = await live.query<{ app_id: string; on: string; rows: number }>(
    'SELECT app_id, toString(day) AS on, count() AS rows FROM events_raw_v1 GROUP BY app_id, day ORDER BY app_id, day',
  )
  const slices: Slice[] = []
  for (const { app_id, on, rows } of days) {
    const last = slices.at(-1)
    if (last?.app_id === app_id && last.rows + rows <= slice_rows_max)
      Object.assign(last, { last: on, rows: last.rows + rows })
    else slices.push({ app_id, first: on, last: on, rows })
  }
  return slices
}

const copy = (scratch: Clickhouse, table: string, select: string): Promise<void> =>
  scratch.command(`INSERT INTO ${table} ${select} SETTINGS ${settings}`, { name: `${rebuild_token}copy` })
