import { randomUUID } from 'node:crypto'
import { type EventRow, eventRowColumns } from '@tributary/contracts/rows'
import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import { testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { expect, it } from 'vitest'
import { transactionSweep } from '../../src/money/sweep-transactions.ts'
import { newAppId, openMigrated } from '../writer-stage.ts'

await describeWithEngine('clickhouse', ({ url }) => {
  it('on a server a sweep takes back what two partitions counted, at its first run and at later ones', async () => {
    const clickhouse = await openMigrated(url)
    const sweep = transactionSweep(clickhouse)
    const app_id = newAppId()
    const claim = (transaction_key: string, partition: number): EventRow =>
      testEventRow({
        app_id,
        ts_ms: Date.UTC(2026, 0, 2),
        revenue_micros: '1',
        currency: 'USD',
        transaction_key,
        partition,
      })
    for (const key of ['18446744073709551615', '9007199254740993']) {
      for (const partition of [0, 1]) {
        const lines = JSON.stringify(eventRowColumns.map((column) => claim(key, partition)[column]))
        await clickhouse.insert({ table: 'events_raw_v1', columns: eventRowColumns, lines, token: randomUUID() })
      }
      await sweep()
    }
    const rows = await clickhouse.query(
      `SELECT toString(transaction_key) AS key, partition FROM revenue_cancelled_v1 FINAL
       WHERE app_id = {app_id:String} ORDER BY transaction_key`,
      { app_id },
    )
    expect(rows).toEqual([
      { key: '9007199254740993', partition: 1 },
      { key: '18446744073709551615', partition: 1 },
    ])
    await clickhouse.close()
  })
})
