import { textLiteral } from '@tributary/clickhouse/literals'
import { compareDays, compareReceived, findRowlessKeys } from '@tributary/tables/repair/compare-days'
import { compareSettled } from '@tributary/tables/repair/compare-settled'
import { randomHistory } from '@tributary/testing/oracle/random-history'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newAppId, openReportStage, type ReportStage } from '../reports/stage.ts'

const app_ids = Array.from({ length: 2 }, newAppId)
let stage: ReportStage

const historiesOf = () => fc.sample(randomHistory, app_ids.length)

/** Half of each history; the other half comes later. */
async function write(half: 'first' | 'second', histories: ReturnType<typeof historiesOf>) {
  const partOf = <Item extends object>(items: readonly Item[] | undefined, app: number) => {
    const cut = Math.ceil((items?.length ?? 0) / 2)
    return (half === 'first' ? items?.slice(0, cut) : items?.slice(cut))?.map((item) => ({ ...item, app })) ?? []
  }
  await stage.write(
    {
      events: histories.flatMap(({ events }, app) => partOf(events, app)),
      decisions: histories.flatMap(({ decisions }, app) =>
        partOf(
          decisions.map((one, place) => ({ ...one, place })),
          app,
        ),
      ),
      clicks: histories.flatMap(({ clicks }, app) => partOf(clicks, app)),
    },
    app_ids,
  )
}

/** Days with data of an app. */
async function daysOf(app_id: string): Promise<string[]> {
  const where = `WHERE app_id = ${textLiteral(app_id)}`
  const rows = await stage.clickhouse.query<{ on: string }>(
    `SELECT DISTINCT toString(day) AS on FROM (
       SELECT day FROM events_raw_v1 ${where} UNION ALL SELECT day FROM report_stamps_v1 ${where}) ORDER BY on`,
  )
  return rows.map(({ on }) => on)
}

async function receivedDaysOf(app_id: string): Promise<string[]> {
  const rows = await stage.clickhouse.query<{ on: string }>(
    `SELECT DISTINCT toString(received_day) AS on FROM events_received_per_day_v1 WHERE app_id = ${textLiteral(app_id)} ORDER BY on`,
  )
  return rows.map(({ on }) => on)
}

async function compareAll() {
  const found: unknown[] = []
  for (const app_id of app_ids) {
    const days = await daysOf(app_id)
    found.push(...(await compareDays(stage.clickhouse, { app_id, days })))
    found.push(...(await compareReceived(stage.clickhouse, { app_id, days: await receivedDaysOf(app_id) })))
    found.push(...(await compareSettled(stage.clickhouse, { app_id, days, clicks_from: '' })))
  }
  return found
}

const histories = historiesOf()
beforeAll(async () => {
  stage = await openReportStage()
  await write('first', histories)
  await stage.settle()
})
afterAll(() => stage.close())

test('tables and figures of whatever happened agree, settled or changed since', async () => {
  expect(await compareAll()).toEqual([])
  await write('second', histories)
  expect(await compareAll()).toEqual([])
})

/** Some apps and days with rows in a table. */
function someDays(table: string, where = '1') {
  return stage.clickhouse.query<{ app_id: string; on: string }>(
    `SELECT app_id, toString(day) AS on FROM ${table} WHERE app_id IN (${app_ids.map(textLiteral)}) AND ${where} ORDER BY cityHash64(app_id, day) LIMIT 1 BY app_id, day LIMIT 4`,
  )
}

describe('one row of one day is enough:', () => {
  test.each([
    ['events_per_day_v1', 'events + 1 AS events'],
    ['events_per_day_v1', 'revenue_micros + 1 AS revenue_micros'],
    ['activity_by_day_v1', 'min_ts_ms - 86400000 AS min_ts_ms'],
    ['revenue_raw_v1', 'offset + 1000000 AS offset'],
    ['event_keys_v1', 'offset + 1000000 AS offset'],
    ['transaction_keys_v1', 'offset + 1000000 AS offset'],
  ])('%s with %s', async (table, change) => {
    const key = table === 'event_keys_v1' ? 'key_day' : 'day'
    const [row] = await stage.clickhouse.query<{ app_id: string; on: string }>(
      `SELECT app_id, toString(${key}) AS on FROM ${table}
       WHERE app_id IN (${app_ids.map(textLiteral)}) AND ${key} > '1970-01-01' ORDER BY ALL LIMIT 1`,
    )
    const { app_id, on } = row!
    const where = `app_id = ${textLiteral(app_id)} AND ${key} = ${textLiteral(on)}`
    await stage.clickhouse.command(
      `INSERT INTO ${table} SELECT * REPLACE (${change}) FROM ${table} WHERE ${where} LIMIT 1 SETTINGS insert_deduplicate = 0`,
    )
    const found = await compareDays(stage.clickhouse, { app_id, days: await daysOf(app_id) })
    expect(found.map((one) => one.table)).toContain(table)
  })

  test.each([
    ['settled_installs_v1', 'groups.installs'],
    ['settled_uniques_v1', 'uniques.installs'],
    ['settled_money_v1', 'money.micros'],
    ['settled_money_v1', 'payers.installs'],
    ['settled_campaigns_v1', 'campaigns.installs'],
    ['settled_clicks_v1', 'campaigns.clicks'],
    ['settled_payments_v1', 'events.micros'],
    ['settled_earnings_v1', 'earned.micros'],
    ['settled_cohorts_v1', null],
    ['settled_campaign_cohorts_v1', 'countries.retained'],
  ])('%s', async (table, column) => {
    const filled = column === null ? 'retained > 0' : `notEmpty(\`${column}\`)`
    const change =
      column === null
        ? 'toUInt32(retained + 1) AS retained'
        : `CAST(arrayMap(n -> n + 1, \`${column}\`), toTypeName(\`${column}\`)) AS \`${column}\``
    // Some other test has changed days of events: only those that are settled are compared.
    await stage.settle()
    // Not each of these rows is the settled one of its day: some days have changed, and have nothing to be settled any more.
    const found: string[] = []
    for (const { app_id, on } of await someDays(table, filled)) {
      const where = `app_id = ${textLiteral(app_id)} AND day = ${textLiteral(on)} AND ${filled}`
      await stage.clickhouse.command(
        `INSERT INTO ${table} SELECT * REPLACE (${change}) FROM ${table} FINAL WHERE ${where} SETTINGS insert_deduplicate = 0`,
      )
      const different = await compareSettled(stage.clickhouse, { app_id, days: [on], clicks_from: '' })
      found.push(...different.map((one) => one.table))
    }
    expect(found).toContain(table)
  })

  test('events_received_per_day_v1, by its own day', async () => {
    const app_id = app_ids[0]!
    const where = `app_id = ${textLiteral(app_id)}`
    const [row] = await stage.clickhouse.query<{ on: string }>(
      `SELECT toString(received_day) AS on FROM events_received_per_day_v1 WHERE ${where} LIMIT 1`,
    )
    await stage.clickhouse.command(
      `INSERT INTO events_received_per_day_v1 SELECT * REPLACE (1 AS events) FROM events_received_per_day_v1
       WHERE ${where} AND received_day = ${textLiteral(row!.on)} LIMIT 1 SETTINGS insert_deduplicate = 0`,
    )
    const found = await compareReceived(stage.clickhouse, { app_id, days: [row!.on] })
    expect(found).toContainEqual(expect.objectContaining({ table: 'events_received_per_day_v1', day: row!.on }))
  })

  test('settled clicks, unless retention may have deleted the clicks', async () => {
    await stage.settle()
    const { app_id, on } = (await someDays('settled_clicks_v1', 'notEmpty(`campaigns.clicks`)'))[0]!
    const where = `app_id = ${textLiteral(app_id)} AND day = ${textLiteral(on)}`
    await stage.clickhouse.command(`ALTER TABLE clicks_raw_v1 DELETE WHERE ${where} SETTINGS mutations_sync = 2`)
    const compare = async (clicks_from: string) =>
      (await compareSettled(stage.clickhouse, { app_id, days: [on], clicks_from })).map(({ table }) => table)
    expect(await compare(on)).toContain('settled_clicks_v1')
    expect(await compare(`${on}x`)).not.toContain('settled_clicks_v1')
  })

  test.each([
    ['a key', `WHERE key_day != '1970-01-01'`],
    ['a key of an install', `WHERE key_day = '1970-01-01'`],
  ])('%s whose row is gone', async (_, kind) => {
    const [gone] = await stage.clickhouse.query<{ app_id: string; key: string; on: string }>(
      `SELECT app_id, toString(event_key) AS key, toString(key_day) AS on FROM events_raw_v1 ${kind} LIMIT 1`,
    )
    const { app_id } = gone!
    const where = `app_id = ${textLiteral(app_id)}`
    await stage.clickhouse.command(
      `ALTER TABLE events_raw_v1 DELETE WHERE ${where} AND event_key = ${gone!.key} AND key_day = ${textLiteral(gone!.on)} SETTINGS mutations_sync = 2`,
    )
    const found = await findRowlessKeys(stage.clickhouse, { app_id, days: await daysOf(app_id) }, 10)
    expect(found).toContainEqual(expect.objectContaining({ app_id, event_key: gone!.key, key_day: gone!.on }))
  })
})
