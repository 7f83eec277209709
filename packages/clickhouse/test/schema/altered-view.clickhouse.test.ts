import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterEach, beforeEach, expect, test } from 'vitest'

let clickhouse: TestClickhouse
beforeEach(async () => {
  clickhouse = await openTestClickhouse()
})
afterEach(() => clickhouse.close())

test('a batch that was written by the process that ran the migrations counts once when a later one repeats it', async () => {
  const rows = ['EUR', ''].map((currency) =>
    testEventRow({
      app_id: 'app_1',
      ts_ms: Date.UTC(2026, 4, 1),
      user_id: 'user_1',
      currency,
      ...(currency && { revenue_micros: '1500000', transaction_id: 't1', transaction_key: '17' }),
    }),
  )
  await clickhouse.insertEvents(rows, 'token-1')
  const written = await clickhouse.readEventTables()
  for (const [table, stored] of Object.entries(written)) expect(stored, table).not.toEqual([])
  await clickhouse.reopen()
  await clickhouse.insertEvents(rows, 'token-1')
  expect(await clickhouse.readEventTables()).toEqual(written)
})
