import { limits } from '@tributary/contracts/limits'
import { createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addDue, endTries, findDueApps, type TakenReceipt, takeDue } from '../../src/receipts/due-receipts.ts'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await openTestPostgres()
})
afterAll(() => postgres.close())

const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
const request = { actor: 'test', request_id: 'r', now_ms: 0 }

/** A new app with receipts that are due, by the offset of their records. */
async function openApp() {
  const { pool } = postgres
  const { company_id } = await createCompany(pool, { name: 'A', plan: 'free' }, request)
  const { app_id } = await createApp(pool, masterKeys, { company_id, name: 'G', platform: 'ios' }, request)
  const place = { app_id, install_uuid: 'i', day: '2026-06-01', event_key: '1', topic: 't', partition: 0 }
  const event = { event_name: 'purchase', product_id: null, transaction_id: null, receipt: {}, dated_at_ms: 0 }
  const take = (max: number, resting: ('apple' | 'google')[] = []) => takeDue(pool, { app_id, max, resting })
  const putOff = (taken: TakenReceipt[]) =>
    endTries(pool, { judged: [], put_off: taken.map((one) => ({ taken: one, pause_ms: 0, reason: 'store_away' })) })
  return {
    add: (offsets: number[], asks: 'apple' | null = 'apple') =>
      addDue(
        pool,
        offsets.map((offset) => ({ ...place, ...event, offset, asks })),
      ),
    /** The same, after a first try that found the store away. */
    async addWaiting(offsets: number[]) {
      await this.add(offsets)
      await putOff(await take(offsets.length * 2))
    },
    take,
    offsets: async (max: number, resting: ('apple' | 'google')[] = []) =>
      (await take(max, resting)).map(({ offset }) => offset).toSorted((a, b) => a - b),
    isDue: async () => (await findDueApps(pool)).includes(app_id),
    change: (set: string) => pool.query(`UPDATE due_receipts SET ${set} WHERE app_id = $1`, [app_id]),
  }
}

test('neither new receipts nor those that wait for a store hold the others back', async () => {
  const app = await openApp()
  await app.addWaiting([1, 2, 3, 4, 5, 6])
  await app.add([11, 12, 13, 14, 15, 16])
  const first = await app.offsets(4)
  expect([first.filter((n) => n < 10).length, first.filter((n) => n > 10).length]).toEqual([2, 2])
  // What one kind leaves the other one has.
  expect(await app.offsets(100)).toHaveLength(8)
  expect(await app.isDue()).toBe(false)
})

test('beside a store that rests come new receipts, those that prove themselves, and those of a try that broke off', async () => {
  const app = await openApp()
  await app.addWaiting([1, 2])
  await app.add([3])
  await app.add([4], null)
  expect(await app.offsets(100, ['google'])).toEqual([1, 2, 3, 4])
  await app.change('next_try_ms = 0')
  // Their tries broke off: nobody knows whether they left a verdict.
  expect(await app.offsets(100, ['apple'])).toEqual([1, 2, 3, 4])
  await app.change('lease = NULL, next_try_ms = 0')
  expect(await app.isDue()).toBe(true)
  expect(await app.offsets(100, ['apple'])).toEqual([4])
  expect(await app.offsets(100)).toEqual([1, 2, 3])
})

test('a receipt whose 72 hours are over comes though its store rests, but not before it is due', async () => {
  const app = await openApp()
  await app.addWaiting([1, 2])
  await app.change(`tried_from_ms = tried_from_ms - ${limits.receipt_tries_ms_max}`)
  await app.change('next_try_ms = next_try_ms + CASE "offset" WHEN 2 THEN 60000 ELSE 0 END')
  const taken = await app.take(100, ['apple'])
  expect(taken.map(({ offset, left_ms }) => [offset, left_ms <= 0])).toEqual([[1, true]])
})
