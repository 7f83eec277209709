import { randomUUID } from 'node:crypto'
import { day_ms } from '@tributary/contracts/limits'
import { testEventRow } from '@tributary/testing/engines/test-clickhouse'
import type { SentEvent } from '@tributary/testing/oracle/history'
import { now_ms } from '@tributary/testing/oracle/random-history'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ErasureStage, openErasureStage, sentEvent } from '../stage.ts'
import { rowsByInstall } from './rows-by-install.ts'

let stage: ErasureStage
beforeAll(async () => {
  stage = await openErasureStage()
})
afterAll(() => stage.close())

const paid = { event_name: 'purchase', revenue: 5 }
const claimOf = (install_uuid: string, transaction_id: string, source: SentEvent['source'] = 'sdk'): SentEvent =>
  sentEvent(install_uuid, { ...paid, transaction_id, source, partition: install_uuid === 'gone' ? 0 : 1 })

async function moneyOf(app_id: string): Promise<number> {
  const { rows } = await stage.ask('revenue', app_id, { since_ms: now_ms - 10 * day_ms, until_ms: now_ms + 1 })
  return rows.reduce((sum, { revenue_usd }) => sum + Number(revenue_usd), 0)
}

for (const [when, landing] of Object.entries({ 'before its batch begins': 1, 'before its batch is planned': 2 }))
  test(`a claim that an event-writer without the tombstone writes closes its transaction, ${when}`, async () => {
    const app_id = await stage.makeApp()
    await stage.write({ events: [claimOf('other', 'late')], decisions: [] }, [app_id])
    const [claimed] = await stage.clickhouse.query<{ transaction_key: string }>(
      `SELECT toString(t.transaction_key) AS transaction_key FROM transaction_keys_v1 AS t WHERE app_id = '${app_id}'`,
    )
    // The batch knows no tombstone, so it is written past the writers of the stage.
    const own = testEventRow({
      ...{ app_id, install_uuid: 'gone', ts_ms: now_ms - day_ms, received_at_ms: now_ms - 1, event_name: 'purchase' },
      ...{ revenue_micros: '5000000', currency: 'USD', transaction_id: 'late' },
      transaction_key: claimed!.transaction_key,
    })
    let looks = 0
    await stage.request(app_id, ['gone'])
    await stage.run({
      async findOlderWork() {
        looks += 1
        if (looks !== landing) return []
        await stage.clickhouse.insertEvents([own], randomUUID())
        return [{ consumer: 'event-writer', partition: 0 }]
      },
    })
    expect(await rowsByInstall(stage.clickhouse, app_id, 'gone')).toEqual({})
    expect(await moneyOf(app_id)).toBe(0)
  })

test('a claim of the install that comes at any step behind the tombstone is dropped, and closes no transaction', async () => {
  const app_id = await stage.makeApp()
  const others = Array.from({ length: 50 }, (_, n) => claimOf('other', `t${n}`))
  await stage.write({ events: [claimOf('gone', 'own'), claimOf('other', 'own'), ...others], decisions: [] }, [app_id])
  await stage.request(app_id, ['gone'])
  const steps: string[] = []
  let step = ''
  await stage.run({
    atStep: (name) => {
      step = name
    },
    async leaseHeld() {
      // A backend's claim would have the money of the other install.
      await stage.write({ events: [claimOf('gone', `t${steps.length}`, 's2s')], decisions: [] }, [app_id])
      steps.push(step)
    },
  })
  expect(steps.length).toBeGreaterThan(10)
  expect(steps.length).toBeLessThan(others.length)
  expect(await rowsByInstall(stage.clickhouse, app_id, 'gone')).toEqual({})
  expect(await moneyOf(app_id), 'all but the transaction whose money was erased').toBe(5 * others.length)
})
