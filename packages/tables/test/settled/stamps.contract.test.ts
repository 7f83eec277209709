import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import { eventRowColumns, revenueRowColumns } from '@tributary/contracts/rows'
import { utcDay } from '@tributary/domain/utc-day'
import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import { insertInstalls, installRows } from '@tributary/testing/engines/insert-verdicts'
import { openTestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decisionOf, first_ms } from './world.ts'

const inserts = 16
const inserters = 3

/** The number that a stamp of each source counts when each insert is of one install and one event. */
const counts: Record<string, string> = {
  activity: 'SELECT uniqExact(install_key) AS n FROM activity_by_day_v1',
  uniques: 'SELECT uniqExactMerge(installs) AS n FROM event_installs_per_day_v1',
  installs: 'SELECT uniqExact(install_key) AS n FROM installs_by_day_v1',
  dimensions: 'SELECT uniqExact(install_key) AS n FROM installs_by_dimensions_v1',
  clicks: 'SELECT uniqExact(click_id) AS n FROM clicks_raw_v1',
  money: `SELECT (SELECT uniqExact(offset) FROM revenue_raw_v1 WHERE app_id = {app_id:String})
    + (SELECT uniqExact(offset) FROM revenue_cancelled_v1) AS n FROM money_days_v1`,
}

/** Everything that one install brings, as the consumers insert it. */
async function insertInstall(clickhouse: Clickhouse, app_id: string, offset: number) {
  const install_uuid = `install-${offset}`
  const event = testEventRow({ app_id, install_uuid, offset, ts_ms: first_ms, revenue_micros: '7', currency: 'USD' })
  const block = (table: string, columns: readonly string[], row: object) => ({
    ...{ table, columns, token: randomUUID() },
    lines: JSON.stringify(columns.map((column) => (row as Record<string, unknown>)[column])),
  })
  await clickhouse.insert(block('events_raw_v1', eventRowColumns, event))
  await clickhouse.insert(block('revenue_cancelled_v1', revenueRowColumns, { ...event, amount_micros: 7 }))
  const click = { app_id, click_id: install_uuid, day: utcDay(Date.now()), partner: 'acme', click: '{}' }
  await clickhouse.insert(block('clicks_raw_v1', Object.keys(click), click))
  const decision = { ...decisionOf(1), install_uuid, installed_at_ms: first_ms }
  await insertInstalls(clickhouse, installRows(app_id, [decision], offset), randomUUID())
}

/** The stamps, and what was read after them. */
async function look(clickhouse: Clickhouse, app_id: string) {
  const stamps = await clickhouse.query<{ source: string; stamp: number }>(
    'SELECT source, sum(rows) AS stamp FROM report_stamps_v1 WHERE app_id = {app_id:String} GROUP BY source',
    { app_id },
  )
  return Promise.all(
    stamps.map(async ({ source, stamp }) => {
      const [row] = await clickhouse.query<{ n: number }>(`${counts[source]} WHERE app_id = {app_id:String}`, {
        app_id,
      })
      return { source, stamp, counted: row!.n }
    }),
  )
}

function stampSuite(engine: string, open: () => Promise<{ clickhouse: Clickhouse; close(): Promise<void> }>) {
  describe(`stamps on ${engine}`, () => {
    let opened: Awaited<ReturnType<typeof open>>
    beforeAll(async () => {
      opened = await open()
    })
    afterAll(() => opened.close())

    it('shows no stamp before the data behind it, whatever is inserted meanwhile, and counts all of it', async () => {
      const { clickhouse } = opened
      const app_id = randomUUID()
      let next = 0
      const insertAll = async () => {
        while (next < inserts) await insertInstall(clickhouse, app_id, next++)
      }
      let over = false
      const inserting = Promise.all(Array.from({ length: inserters }, insertAll)).finally(() => {
        over = true
      })
      for (let looks = 0; !over || looks < 3; looks += 1) {
        const early = (await look(clickhouse, app_id)).filter(({ stamp, counted }) => counted < stamp)
        expect(early).toEqual([])
      }
      await inserting
      const found = (await look(clickhouse, app_id)).toSorted((a, b) => (a.source < b.source ? -1 : 1))
      expect(found.map(({ source, stamp }) => [source, stamp])).toEqual([
        ['activity', inserts],
        ['clicks', inserts],
        ['dimensions', inserts],
        ['installs', inserts],
        ['money', 2 * inserts],
        ['uniques', inserts],
      ])
    })
  })
}

stampSuite('the embedded engine', async () => {
  const clickhouse = await openTestClickhouse()
  return { clickhouse, close: () => clickhouse.close() }
})

await describeWithEngine('clickhouse', ({ url }) => {
  stampSuite('a server', async () => {
    const database = `test_${randomUUID().replaceAll('-', '')}`
    const options = { url, connect_timeout_ms: 2000, query_timeout_ms: 20_000, max_open_connections: 8 }
    const root = await openClickhouseServer({ ...options, database: 'default' })
    await root.command(`CREATE DATABASE ${database}`)
    const clickhouse = await openClickhouseServer({ ...options, database })
    await migrateClickhouse({ clickhouse })
    return {
      clickhouse,
      async close() {
        await clickhouse.close()
        await root.command(`DROP DATABASE ${database}`)
        await root.close()
      },
    }
  })
})
