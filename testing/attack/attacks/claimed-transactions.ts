import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { declaredRoutes } from '@tributary/standalone/declared-routes'
import { waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import type { Attack, Target } from '../attack.ts'
import { eventRows } from '../reports.ts'
import { rest, send, sendSigned } from '../send.ts'

const price = 99.99
/** The backend's event takes the money over within a minute (docs/rules.md#money-once). */
const taken_over_ms_max = 75_000

const purchase = (transaction_id: string, revenue: number) => ({
  event_id: randomUUID(),
  event_name: 'purchase',
  install_uuid: randomUUID(),
  event_ts_ms: Date.now(),
  transaction_id,
  revenue,
  currency: 'USD',
})

/** A phone claims its backend's transactions first, almost for free. */
export const claimedTransactions: Attack = {
  name: 'claimed-transactions',
  what: "a phone sends a backend's transaction ids first, with a revenue of 0.01",
  expected: ['200'],
  allowed: [],
  async run(target) {
    const { server_key } = target.attacker
    const headers = { authorization: `Bearer ${server_key}` }
    while (!target.signal.aborted) {
      const id = randomUUID()
      const claim = JSON.stringify({ events: [purchase(id, 0.01)] })
      await sendSigned(target, declaredRoutes.sendBatch.path, Buffer.from(claim), false)
      const body = JSON.stringify(purchase(id, price))
      await send(target, declaredRoutes.sendServerEvent.path, { method: 'POST', headers, body })
      await rest(target, 250)
    }
  },
  async check(target) {
    const deadline = Date.now() + taken_over_ms_max
    for (;;) {
      const { wanted, counted } = await revenueOf(target)
      if (counted === wanted) return []
      if (Date.now() > deadline) return [`the backend sold for ${wanted} USD, the report counts ${counted}`]
      await pause(500)
    }
  },
}

/** The backend makes half of the purchases. */
async function revenueOf({ url, data_dir, attacker }: Target) {
  await waitUntilWritten(url, data_dir)
  const rows = (await eventRows(url, attacker)).filter(({ event_name }) => event_name === 'purchase')
  const events = rows.reduce((sum, row) => sum + row.events, 0)
  const counted = rows.reduce((sum, { revenue_usd }) => sum + revenue_usd, 0)
  return { wanted: Math.round((events / 2) * price * 100) / 100, counted: Math.round(counted * 100) / 100 }
}
