import type { LogRecord } from '@tributary/broker/broker'
import type { Fact } from '@tributary/contracts/attribution/found'
import { expect, test } from 'vitest'
import { type InstallAttributorDeps, installAttributor } from '../src/install-attributor.ts'
import { app_id, click, hour_ms, install, t0, token } from './model/story.ts'
import { world } from './model/world.ts'

const nothing = async () => {}
/** A loop that takes each given fact as a batch, and then all re-decisions. */
async function after(...facts: Fact[]) {
  const loop = world({ ms: t0 + 40 * hour_ms })
  const take = async (...more: Fact[]) => {
    for (const fact of more) {
      loop.found.push(fact)
      await loop.handle(1, [], nothing)
    }
    while (loop.hasWork()) await loop.handle(1, [], nothing)
    return loop.verdicts()
  }
  await loop.writeClick(click(1))
  await take(...facts)
  return { ...loop, take }
}

test('a decision that changes nothing is published from the second try on', async () => {
  const fact = install(1)
  const loop = await after(fact)
  const decidedAt = () => loop.tables.newest.get('i1')?.decided_at
  await loop.take(fact)
  expect(decidedAt()).toMatchObject({ offset: 0, try: 1 })
  loop.found.push(fact)
  await loop.handle(1, [1], nothing)
  await loop.verdicts()
  expect(decidedAt()).toMatchObject({ offset: 2, try: 2 })
})

test('a fact of a time that has no day is refused before it can stop its partition', () => {
  const { decode } = installAttributor({} as InstallAttributorDeps)
  const record = { value: Buffer.from(JSON.stringify(install(1, { received_at_ms: 9e15 }))) } as LogRecord
  expect(() => decode(record, 'installs.found.v1@a')).toThrow(RangeError)
})

test('a re-decision of an install without install events decides nothing, and leaves the list', async () => {
  const loop = await after()
  await loop.list.add([{ app_id, install_uuid: 'nobody' }])
  await loop.handle(1, [], nothing)
  expect(await loop.verdicts()).toEqual({})
  expect(loop.list.names()).toEqual([])
})

test('an install that turns out to be later leaves its click to the one in between', async () => {
  const named = { named_click: token(1) }
  const open = install(1, { install_uuid: 'x', event_name: 'app_first_open', installed_at_ms: t0 + hour_ms, ...named })
  const between = install(2, { install_uuid: 'y', installed_at_ms: t0 + 2 * hour_ms, ...named })
  const loop = await after(open, between)
  const later = install(3, { install_uuid: 'x', installed_at_ms: t0 + 3 * hour_ms, ...named })
  const verdicts = await loop.take(later)
  expect(verdicts.y?.verdict).toMatchObject({ attribution_type: 'click_id' })
  expect(verdicts.x).toMatchObject({ verdict: { partner: 'organic' }, candidates: [{ reason: 'click_already_used' }] })
})

test('the twenty-first install of a network in an hour is flagged, also when one before it arrives last', async () => {
  const one = (n: number) =>
    install(n, { ip: `192.0.2.${n}`, installed_at_ms: t0 + n * 1000, received_at_ms: t0 + n * 1000 })
  const [first, ...others] = Array.from({ length: 22 }, (_, n) => one(n + 1))
  const loop = await after(...others)
  const flagged = (verdicts: Awaited<ReturnType<typeof loop.verdicts>>) =>
    Object.values(verdicts).flatMap(({ install_uuid, verdict }) => (verdict?.fraud_flags.length ? install_uuid : []))
  expect(flagged(await loop.verdicts())).toEqual(['i22'])
  expect(flagged(await loop.take(first!)).toSorted()).toEqual(['i21', 'i22'])
})
