import type { Verdict } from '@tributary/contracts/attribution/verdict'
import { limits } from '@tributary/contracts/limits'
import { newestTombstones } from '@tributary/domain/erasure/tombstones'
import type { DecidedInstall } from '@tributary/domain/partner/owed'
import { endTries, removeTaken, takeDue } from '@tributary/tables/partners/due-postbacks'
import { endErased, removeErased } from '@tributary/tables/partners/erased-postbacks'
import { memoryTombstones } from '@tributary/testing/twins/memory-tombstones'
import { expect, test } from 'vitest'
import { oweAll } from '../src/owe/owe.ts'
import { readAppSettings } from '../src/owe/settings-versions.ts'
import { openStage } from './deliver-stage.ts'

const verdict: Verdict = {
  ...{ partner: 'ads', attribution_type: 'click_id', campaign: null, link_id: 'l', click_id: 'c', ext_click_id: null },
  ...{ sub1: null, sub2: null, sub3: null, sub4: null, sub5: null, reinstall: false, fraud_flags: [] },
}

/** An install whose first life is owed to a partner, which an erasure then takes; and how to owe its next life. */
async function openLives() {
  const stage = await openStage()
  const { pool, app_id, now } = stage
  await stage.owe('ads', 'http://127.0.0.1/', 0)
  const settings = (await readAppSettings(pool, [app_id])).get(app_id)!
  const erased = memoryTombstones()
  const began_ms = now()
  /** Owes a life that began so many seconds later; gives back how many postbacks are new. */
  const oweLife = async (seconds: number) => {
    const at_ms = began_ms + seconds * 1000
    const times = { installed_at_ms: at_ms, received_at_ms: at_ms, decided_at_ms: at_ms }
    const decision: DecidedInstall = { app_id, install_uuid: 'i', ...times, verdict }
    const install = { app_id, install_uuid: 'i', decisions: [decision], events: [], settings }
    return oweAll(
      { broker: null as never, clickhouse: null as never, postgres: pool, now },
      [install],
      await newestTombstones(erased),
    )
  }
  const mark_ms = began_ms + 1000
  const take = async () => (await takeDue(pool, [{ app_id, partner: 'ads', max: 9 }]))[0]!
  const rows = async () =>
    (await pool.query('SELECT idempotency_key AS key, state FROM due_postbacks ORDER BY owed_at_ms')).rows
  return { ...stage, oweLife, take, rows, mark_ms, erase: () => erased.erase(app_id, 'i', mark_ms) }
}

test('a new life is owed its install before the eraser has removed what the erased one was owed', async () => {
  const { oweLife, take, rows, pool, now, erase } = await openLives()
  expect(await oweLife(0)).toBe(1)
  const sent = await take()
  await endTries(pool, [{ ...sent, state: 'delivered', pause_ms: 0, reason: null }], now())
  expect(await oweLife(2)).toBe(0)
  erase()
  expect(await oweLife(2)).toBe(1)
  const both = await rows()
  expect(both).toEqual([
    { key: sent.idempotency_key, state: 'erased' },
    { key: expect.not.stringContaining(sent.idempotency_key), state: 'due' },
  ])
  expect(await oweLife(2)).toBe(0)
  expect(await rows()).toEqual(both)
})

test('a new life is owed its install while somebody is in a try of the erased one, of which the eraser still hears', async () => {
  const { oweLife, take, rows, pool, app_id, now, erase, mark_ms } = await openLives()
  const install = { install_uuid: 'i', mark_ms }
  await oweLife(0)
  const old = await take()
  erase()
  expect(await oweLife(2)).toBe(1)
  const taken = await take()
  expect(taken).toMatchObject({ tries: old.tries, idempotency_key: expect.not.stringContaining(old.idempotency_key) })
  expect(await endErased(pool, app_id, [install])).toBe(true)
  // The end of the old try is none of the new one.
  await endTries(pool, [{ ...old, state: 'delivered', pause_ms: 0, reason: null }], now())
  expect(await endErased(pool, app_id, [install])).toBe(false)
  await removeErased(pool, app_id, [install])
  expect(await rows()).toEqual([{ key: taken.idempotency_key, state: 'due' }])
  await endTries(pool, [{ ...taken, state: 'delivered', pause_ms: 0, reason: null }], now())
  expect(await rows()).toEqual([{ key: taken.idempotency_key, state: 'delivered' }])
})

test('what was taken of an erased life is removed without what its new life is owed', async () => {
  const { oweLife, take, rows, pool, app_id, erase, mark_ms } = await openLives()
  await oweLife(0)
  const old = await take()
  erase()
  await oweLife(2)
  const taken = await take()
  await removeTaken(pool, [old])
  expect(await rows()).toEqual([{ key: taken.idempotency_key, state: 'due' }])
  expect(await endErased(pool, app_id, [{ install_uuid: 'i', mark_ms }])).toBe(false)
})

test('a process that was killed in a try of an erased life holds up the eraser until its lease ends, and the new life never', async () => {
  const { oweLife, take, rows, pool, app_id, later, erase, mark_ms } = await openLives()
  const install = { install_uuid: 'i', mark_ms }
  await oweLife(0)
  await take()
  erase()
  expect(await oweLife(2)).toBe(1)
  const { idempotency_key } = await take()
  await later(limits.partner_lease_ms)
  expect(await endErased(pool, app_id, [install])).toBe(false)
  await removeErased(pool, app_id, [install])
  expect(await rows()).toEqual([{ key: idempotency_key, state: 'due' }])
})
