import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '@tributary/contracts/limits'
import { openStoreApps } from '@tributary/tenancy/postbacks/store-apps-cache'
import type { Pool } from 'pg'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { ownedItemsOf } from '../src/reports/skan-rows.ts'
import { windowDays } from '../src/window-days.ts'

test('all reports that run at once find their items, however many a stranger made up for each', async () => {
  const query = async () => {
    await pause(1)
    return { rows: [] }
  }
  const pool = { query, options: { host: '127.0.0.1', port: 1 } } as unknown as Pool
  const storeApps = await openStoreApps({ pool, now: Date.now, logger: pino({ level: 'silent' }) })
  onTestFinished(() => storeApps.close())
  const items_max = limits.report_published_items_max / 5 // enough of them together
  let made_up = 1_000_000
  const clickhouse = {
    query: async <Row>() => Array.from({ length: items_max }, () => ({ item: `${made_up++}` })) as Row[],
  }
  const window = windowDays({ since_ms: Date.UTC(2026, 0, 1), until_ms: Date.UTC(2026, 1, 1) })!
  const reports = Array.from({ length: limits.reports_running_max }, (_, n) =>
    ownedItemsOf({ clickhouse, storeApps }, { item: `${n + 1}`, ...window }),
  )
  const found = await Promise.all(reports)
  expect(found).toEqual(reports.map(() => []))
})
