import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { appleTransaction } from '@tributary/testing/stores/apple-authority'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { authority, receiptStage, t0 } from './receipt-stage.ts'

let clickhouse: TestClickhouse
let postgres: TestPostgres
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
})
afterAll(() => Promise.all([clickhouse.close(), postgres.close()]))

const day_ms = 86_400_000
const subscription = (transactionId: string, more: object = {}) =>
  appleTransaction({
    ...{ transactionId, originalTransactionId: '500', productId: 'pro', type: 'Auto-Renewable Subscription' },
    ...{ purchaseDate: t0, price: 9990, currency: 'EUR', ...more },
  })
const receipt = (transaction: object) => ({ receipt: { store: 'apple', jws: authority.sign(transaction) } })

/** All that happens to one subscription, in the order in which it happens at the store. */
const happened = [
  { do: 'receipt' as const },
  { do: 'notify' as const, id: 'n-1', type: 'SUBSCRIBED', transaction: subscription('500') },
  { do: 'backend' as const },
  {
    do: 'notify' as const,
    id: 'n-2',
    type: 'DID_RENEW',
    transaction: subscription('501', { purchaseDate: t0 + day_ms }),
  },
  {
    ...{ do: 'notify' as const, id: 'n-3', type: 'REFUND' },
    transaction: subscription('501', { purchaseDate: t0 + day_ms, revocationDate: t0 + 2 * day_ms }),
  },
  { do: 'notify' as const, id: 'n-4', type: 'EXPIRED', transaction: subscription('501') },
  { do: 'notify' as const, id: 'n-5', type: 'PRICE_INCREASE', transaction: subscription('501') },
  {
    do: 'notify' as const,
    id: 'n-2',
    type: 'DID_RENEW',
    transaction: subscription('501', { purchaseDate: t0 + day_ms }),
  },
]

test('a subscription counts the same on its install in whatever order app, backend and store tell it, however often, with kills', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray(happened, { minLength: happened.length }),
      fc.array(fc.nat(happened.length - 1), { maxLength: 2 }),
      fc.array(fc.integer({ min: 1, max: 8 }), { maxLength: 2 }),
      async (order, runs_after, kills) => {
        const stage = await receiptStage({ clickhouse, postgres })
        for (const [n, one] of order.entries()) {
          stage.advance(1000)
          const event = { event_ts_ms: t0, revenue: 8, currency: 'USD', transaction_id: '500' }
          if (one.do === 'notify') await stage.notify(one.id, one.type, one.transaction)
          else if (one.do === 'backend')
            await stage.send('i-1', 's2s', [{ ...event, event_id: 'b', event_name: 'subscription_renewed' }])
          else {
            const props = receipt(subscription('500'))
            await stage.send('i-1', 'sdk', [{ ...event, event_id: 'a', event_name: 'subscribe', props }])
          }
          if (runs_after.includes(n)) await stage.run(kills)
        }
        await stage.run(kills)
        const rows = await clickhouse.query<{
          event_id: string
          install: string
          counts: number
          micros: number
          code: string
        }>(
          `SELECT e.event_id AS event_id, e.install_uuid AS install, toInt8(m.c) AS counts, toInt64(m.amount) AS micros, m.code AS code
           FROM events_raw_v1 AS e LEFT JOIN (
             SELECT event_key, 1 AS c, amount_micros AS amount, currency AS code FROM revenue_chosen_v1 FINAL WHERE app_id = {app_id:String} AND counts = 1
             UNION ALL SELECT event_key, 1 AS c, amount_micros AS amount, currency AS code FROM revenue_raw_v1
               WHERE app_id = {app_id:String} AND event_key NOT IN (SELECT event_key FROM revenue_cancelled_v1 WHERE app_id = {app_id:String})
           ) AS m USING (event_key) WHERE e.app_id = {app_id:String} ORDER BY event_id`,
          { app_id: stage.app_id },
        )
        expect(
          rows.map(({ event_id, install, counts, micros, code }) => [event_id, install, counts, micros, code]),
        ).toEqual([
          ['a', 'i-1', 0, 0, ''],
          ['b', 'i-1', 0, 0, ''],
          ['n-1', 'i-1', 1, 9_990_000, 'EUR'],
          ['n-2', 'i-1', 1, 9_990_000, 'EUR'],
          ['n-3', 'i-1', 1, -9_990_000, 'EUR'],
          ['n-4', 'i-1', 0, 0, ''],
        ])
        const { rows: waiting } = await postgres.pool.query('SELECT 1 FROM waiting_notifications WHERE app_id = $1', [
          stage.app_id,
        ])
        expect(waiting).toEqual([])
      },
    ),
    { numRuns: 8, endOnFailure: true },
  )
})

test('a notification of a purchase that no receipt names waits 30 days, and a test of a store makes no event', async () => {
  const stage = await receiptStage({ clickhouse, postgres })
  await stage.notify('n-1', 'DID_RENEW', subscription('501'))
  await stage.notify('n-2', 'DID_RENEW', subscription('502', { environment: 'Sandbox' }))
  await stage.run()
  expect(stage.envelopes()).toEqual([])
  const { rows } = await postgres.pool.query(
    'SELECT notification_id, round((until_ms - extract(epoch FROM now()) * 1000) / 86400000)::int AS days FROM waiting_notifications WHERE app_id = $1',
    [stage.app_id],
  )
  expect(rows).toEqual([{ notification_id: 'n-1', days: 30 }])
})
