import { day_ms } from '@tributary/contracts/limits'
import type { SentEvent } from '@tributary/testing/oracle/history'
import { now_ms } from '@tributary/testing/oracle/random-history'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ErasureStage, openErasureStage, sentEvent } from '../stage.ts'

let stage: ErasureStage
beforeAll(async () => {
  stage = await openErasureStage()
})
afterAll(() => stage.close())

const paid = { event_name: 'purchase', revenue: 5, transaction_id: 't' }
const claimOf = (install_uuid: string, source: SentEvent['source'], received_at_ms: number): SentEvent =>
  sentEvent(install_uuid, { ...paid, source, received_at_ms, partition: install_uuid === 'gone' ? 0 : 1 })

/** Erases `gone` while event-writer has these events still to read, and gives the money that counts once it has read them. */
async function moneyAfter(written: SentEvent[], unread: SentEvent[]): Promise<number> {
  const app_id = await stage.makeApp()
  await stage.write({ events: written, decisions: [] }, [app_id])
  let left = unread
  await stage.request(app_id, ['gone'])
  await stage.run({
    noteLog: async () => ({
      unread: async () => (left.length > 0 ? [{ consumer: 'event-writer', partition: 0 }] : []),
      endOf: () => null,
    }),
    async pause() {
      const events = left
      left = []
      await stage.write({ events, decisions: [] }, [app_id])
    },
  })
  await stage.write({ events: left, decisions: [] }, [app_id])
  expect((await stage.certificate(app_id, 'gone'))?.state).toBe('completed')
  const all = { since_ms: now_ms - 10 * day_ms, until_ms: now_ms + 1 }
  const { rows } = await stage.ask('revenue', app_id, all)
  return rows.reduce((sum, { revenue_usd }) => sum + Number(revenue_usd), 0)
}

const better = [claimOf('gone', 'sdk', now_ms - 10), claimOf('other', 's2s', now_ms - 5)] as const
const earlier = [claimOf('gone', 'sdk', now_ms - 10), claimOf('other', 'sdk', now_ms - 5)] as const

for (const [what, [own, other], money] of [
  ['a claim that beats the erased one counts', better, 5],
  ['a transaction whose best claim is erased is closed', earlier, 0],
] as const) {
  test(`${what}, whatever event-writer has still to read when the erasure begins`, async () => {
    expect(await moneyAfter([own, other], []), 'no lag').toBe(money)
    expect(await moneyAfter([own], [other]), 'the other claim is unread').toBe(money)
    expect(await moneyAfter([other], [own]), 'the erased claim is unread').toBe(money)
    expect(await moneyAfter([], [own, other]), 'both are unread').toBe(money)
  })
}
