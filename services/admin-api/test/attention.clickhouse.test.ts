import { randomUUID } from 'node:crypto'
import { day_ms, limits } from '@tributary/contracts/limits'
import { openTestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readLastDays } from '../src/attention/company-looks.ts'

let clickhouse: Awaited<ReturnType<typeof openTestClickhouse>>
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

test('the last day of an app is that on which its last event was received, and months ago is none', async () => {
  const now_ms = Date.UTC(2026, 5, 20, 12)
  const app = () => `app_${randomUUID()}`
  const [recent, old, none, foreign] = [app(), app(), app(), app()]
  const received = (app_id: string, ago_ms: number, ts_ms = now_ms) =>
    testEventRow({ app_id, received_at_ms: now_ms - ago_ms, ts_ms })
  await clickhouse.insertEvents(
    [
      ...[received(recent, 9 * day_ms), received(recent, 2 * day_ms, now_ms - 20 * day_ms), received(foreign, 0)],
      received(old, (limits.attention_silent_days_max + 1) * day_ms),
    ],
    randomUUID(),
  )
  expect(await readLastDays(clickhouse, [recent, old, none], now_ms)).toEqual([
    { app_id: recent, last_day: '2026-06-18' },
  ])
})
