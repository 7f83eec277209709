import { genuine } from '@tributary/domain/receipt/judgement'
import { judgeMoney } from '@tributary/tables/receipts/choose-money'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { appleTransaction } from '@tributary/testing/stores/apple-authority'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eraseInstall } from './erase-install.ts'
import { authority, type ReceiptStage, receiptStage, t0 } from './receipt-stage.ts'

let clickhouse: TestClickhouse
let postgres: TestPostgres
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
})
afterAll(() => Promise.all([clickhouse.close(), postgres.close()]))

const bought = (transactionId: string, more: object = {}) =>
  appleTransaction({ transactionId, originalTransactionId: transactionId, ...more })
const purchase = (event_id: string, id: string, more: object = {}) => ({
  ...{ event_id, event_name: 'purchase', event_ts_ms: t0, transaction_id: id, revenue: 3, currency: 'USD' },
  ...{ props: { receipt: { store: 'apple', jws: authority.sign(bought(id)) } }, ...more },
})

/** The rows that name an install in the tables of receipts and money. */
async function rowsOf({ app_id }: ReceiptStage, install_uuid: string) {
  const tables = ['events_raw_v1', 'revenue_raw_v1', 'revenue_cancelled_v1', 'revenue_chosen_v1'].concat([
    ...['receipts_v1', 'receipts_by_claim_v1', 'transaction_claims_v1'],
  ])
  const counts: Record<string, number> = {}
  for (const table of tables) {
    const [row] = await clickhouse.query<{ n: number }>(
      `SELECT toUInt32(count()) AS n FROM ${table} WHERE app_id = {app_id:String} AND install_uuid = {install_uuid:String}`,
      { app_id, install_uuid },
    )
    if (row!.n > 0) counts[table] = row!.n
  }
  for (const table of ['due_receipts', 'store_purchases']) {
    const { rowCount } = await postgres.pool.query(`SELECT 1 FROM ${table} WHERE app_id = $1 AND install_uuid = $2`, [
      app_id,
      install_uuid,
    ])
    if (rowCount! > 0) counts[table] = rowCount!
  }
  return counts
}

/** The money that counts, by install. */
async function money({ app_id }: ReceiptStage) {
  const rows = await clickhouse.query<{ install: string; micros: number }>(
    `SELECT install_uuid AS install, toInt64(amount_micros) AS micros FROM revenue_chosen_v1 FINAL WHERE app_id = {app_id:String} AND counts = 1
     UNION ALL SELECT install_uuid AS install, toInt64(amount_micros) AS micros FROM revenue_raw_v1
     WHERE app_id = {app_id:String} AND (event_key, topic, partition, offset) NOT IN (
       SELECT event_key, topic, partition, offset FROM revenue_cancelled_v1 WHERE app_id = {app_id:String})
     ORDER BY install, micros`,
    { app_id },
  )
  return rows.map(({ install, micros }) => `${install} ${micros}`)
}

test.each([[[]], [[3]], [[6, 9]], [[12, 14]], [[16, 1]]])(
  'an erased install leaves no receipt, nobody inherits its transaction, and its purchase is dropped, killed at %j',
  async (kills) => {
    const stage = await receiptStage({ clickhouse, postgres })
    await stage.send('i-1', 'sdk', [purchase('a', '101'), purchase('b', '102')])
    await stage.send('i-2', 's2s', [purchase('c', '101', { props: {} })])
    await stage.send('i-2', 'sdk', [purchase('d', '102'), purchase('e', '103')])
    await stage.run()
    expect(await money(stage)).toEqual(['i-1 4990000', 'i-1 4990000', 'i-2 4990000'])
    stage.advance(1000)
    await eraseInstall(stage, 'i-1', kills)
    expect(await rowsOf(stage, 'i-1')).toEqual({})
    expect(await money(stage)).toEqual(['i-2 4990000'])
    // Claims that come later find a closed transaction, and what the store says of the purchase is dropped.
    stage.advance(1000)
    await stage.send('i-3', 'sdk', [purchase('f', '101'), purchase('g', '103')])
    await stage.notify('n', 'REFUND', bought('101', { revocationDate: t0 }))
    await stage.run()
    expect(await money(stage)).toEqual(['i-2 4990000'])
    expect(stage.envelopes().filter(({ source }) => source === 'store')).toEqual([])
  },
)

test('a verdict that a process had in hand while the install was erased brings nothing back', async () => {
  const stage = await receiptStage({ clickhouse, postgres })
  await stage.send('i-1', 'sdk', [purchase('a', '101')])
  await stage.run()
  const [place] = await clickhouse.query<never>(
    `SELECT toString(t.day) AS day, install_uuid, toString(t.event_key) AS event_key, topic, partition, offset FROM receipts_v1 AS t FINAL
     WHERE app_id = {app_id:String}`,
    { app_id: stage.app_id },
  )
  stage.advance(1000)
  await eraseInstall(stage, 'i-1')
  const facts = {
    ...{ product_id: 'coins_100', transaction_id: '101', environment: 'Production', original_id: '101' },
    ...{ price: null, purchased_ms: null, taken_back_ms: null, refunded_share: 1, is_subscription: false },
  }
  const standing = await judgeMoney(
    stage.deps,
    stage.app_id,
    [{ place: place!, judged: genuine('apple', 'valid', facts) }],
    {
      again: true,
    },
  )
  expect([...standing]).toEqual([])
  expect(await rowsOf(stage, 'i-1')).toEqual({})
})
