import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { findClicks } from '../../src/attribution/clicks.ts'
import { findDecidingFacts } from '../../src/attribution/facts.ts'
import { findClaims, findNewest } from '../../src/attribution/verdicts.ts'
import { readInstallsInOrder } from '../../src/rows/installs-in-order.ts'

const app_id = 'app_1'
const numbers = Array.from({ length: 5000 }, (_, n) => String(n).padStart(12, '0'))
const click_ids = numbers.map((n) => `01970000-0000-7000-8000-${n}`)
const install_uuids = numbers.map((n) => `install-with-a-long-id-${n}`)

await describeWithOwnEngine('clickhouse', ({ url }) => {
  it('looks up thousands of ids at once at a server, and reads decisions in order', async () => {
    const limits = { connect_timeout_ms: 2000, query_timeout_ms: 60_000, max_open_connections: 4 }
    const clickhouse = await openClickhouseServer({ url, ...limits, logger: pino({ level: 'silent' }) })
    try {
      await migrateClickhouse({ clickhouse })
      expect(await findClicks(clickhouse, { app_id, click_ids })).toEqual([])
      expect(await findClaims(clickhouse, app_id, click_ids)).toEqual([])
      expect(await findDecidingFacts(clickhouse, app_id, install_uuids)).toEqual(new Map())
      expect(await findNewest(clickhouse, app_id, install_uuids)).toEqual(new Map())
      const all = { app_id, since_ms: 0, until_ms: Date.UTC(2100, 0, 1) }
      const pages = readInstallsInOrder(clickhouse, all, 1000, new AbortController().signal)
      expect(await Array.fromAsync(pages)).toEqual([])
    } finally {
      await clickhouse.close()
    }
  })
})
