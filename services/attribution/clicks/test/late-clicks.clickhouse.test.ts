import type { Click } from '@tributary/contracts/attribution/click'
import type { AliasFact, Fact, InstallFact } from '@tributary/contracts/attribution/found'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  clickIdOf,
  clickOf,
  day,
  hour,
  installOf,
  makeStage,
  newAppId,
  noon,
  partitions,
  publishClicks,
  runToEnd,
  storeFacts,
} from './stage.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

/** Writes clicks that come after these facts, and gives the installs that are decided again. */
async function decidedAgain(facts: readonly Fact[], clicks: readonly Click[], stage = makeStage()) {
  await storeFacts(clickhouse, facts)
  await publishClicks(stage.broker, clicks)
  await runToEnd(clickhouse, stage)
  return stage.redecisions.names()
}

test('an install that named a click before it was there is decided again', async () => {
  const app_id = newAppId()
  const click = clickOf({ app_id, clicked_at_ms: noon - 80 * day })
  const other = clickOf({ app_id })
  const referrer = { click_id: click.click_id, signature: 'valid' as const }
  const waiting = installOf({ app_id, referrer })
  const ofAnotherApp = installOf({ app_id: newAppId(), referrer })
  expect(await decidedAgain([waiting, ofAnotherApp], [click, other])).toEqual([`${app_id}/${waiting.install_uuid}`])
})

test('clicks before their installs, and clicks of nobody, have nothing decided again', async () => {
  const app_id = newAppId()
  const stranger = installOf({ app_id, installed_at_ms: noon - 2 * day, ip: '203.0.113.7' })
  expect(await decidedAgain([stranger], [clickOf({ app_id, device_hashes: ['d'] }), clickOf({ app_id })])).toEqual([])
})

test('clicks of one install have it decided again once', async () => {
  const app_id = newAppId()
  const stage = makeStage()
  stage.attributionApps.add({ app_id })
  const install = installOf({ app_id, ip: '203.0.113.7', device_hashes: ['d'] })
  const clicks = [1, 2, 3].map((n) => clickOf({ app_id, device_hashes: ['d'], clicked_at_ms: noon - n }))
  expect(await decidedAgain([install], clicks, stage)).toEqual([`${app_id}/${install.install_uuid}`])
})

test('the hit of a honeypot has SDK installs of its block in all apps of the company decided again, received in the day after', async () => {
  const [one, two, foreign] = [newAppId(), newAppId(), newAppId()]
  const stage = makeStage()
  for (const app_id of [one, two]) stage.attributionApps.add({ app_id })
  stage.attributionApps.add({ app_id: foreign, company_id: 'co_2' })
  const hit = clickOf({ app_id: one, filtered_reason: 'honeypot', ip: '2001:db8:1:2::9' })
  const at = (app_id: string, received_at_ms: number, given: Partial<InstallFact> = {}) =>
    installOf({ app_id, received_at_ms, installed_at_ms: noon - 50 * day, ip: '2001:db8:1:2::1', ...given })
  const wanted = [at(one, noon), at(two, noon + day - 1)]
  const others = [
    at(one, noon - 1),
    at(one, noon + day),
    at(one, noon, { is_sdk: false }),
    at(one, noon, { ip: '2001:db8:1:3::1' }),
    at(foreign, noon),
  ]
  const found = await decidedAgain([...wanted, ...others], [hit], stage)
  expect(found).toEqual(wanted.map(({ app_id, install_uuid }) => `${app_id}/${install_uuid}`).toSorted())
})

test('a click alone has installs at both ends of its window decided again, and those of a backend that is ahead', async () => {
  const app_id = newAppId()
  const stage = makeStage()
  stage.attributionApps.add({ app_id })
  const at = (installed_at_ms: number, ahead_ms = 0) =>
    installOf({ app_id, device_hashes: ['d'], installed_at_ms, received_at_ms: installed_at_ms - ahead_ms })
  const wanted = [at(noon + 30 * day), at(noon - day + 1), at(noon - day + 1, day)]
  const others = [at(noon + 30 * day + 1), at(noon - day)]
  const click = clickOf({ app_id, device_hashes: ['d'], clicked_at_ms: noon })
  const found = await decidedAgain([...wanted, ...others], [click], stage)
  expect(found).toEqual(wanted.map(({ install_uuid }) => `${app_id}/${install_uuid}`).toSorted())
})

test('more installs of one block than a page holds are all decided again for a honeypot', async () => {
  const app_id = newAppId()
  const stage = makeStage()
  stage.attributionApps.add({ app_id })
  const installs = Array.from({ length: 10_500 }, (_, n) =>
    installOf({ app_id, ip: '203.0.113.7', place: placeAt(n), received_at_ms: noon + (n % 3) }),
  )
  const hit = clickOf({ app_id, clicked_at_ms: noon - hour, ip: '203.0.113.7', filtered_reason: 'honeypot' })
  expect(await decidedAgain(installs, [hit], stage)).toHaveLength(10_500)
})

test.each([
  ['an address', { ip: '203.0.113.7' }, { ip: '203.0.113.7' }],
  ['a device', { device_hashes: ['d'] }, { device_hashes: ['d'] }],
])(
  'of many installs of %s the first 50 after a click are decided again, and before it the first of those without a crowd',
  async (_what, clues, marks) => {
    const app_id = newAppId()
    const stage = makeStage()
    stage.attributionApps.add({ app_id })
    // More than are read of a key at first.
    const installs = Array.from({ length: 4000 }, (_, n) =>
      installOf({ app_id, ...clues, place: placeAt(n), installed_at_ms: noon + n }),
    )
    const named = (from: number, to: number) =>
      installs.slice(from, to).map(({ install_uuid }) => `${app_id}/${install_uuid}`)
    const clicks = [60, 3000].map((n) => clickOf({ app_id, ...marks, clicked_at_ms: noon + n }))
    const wanted = [...named(0, 50), ...named(60, 110), ...named(3000, 3050)]
    expect(await decidedAgain(installs, clicks, stage)).toEqual(wanted.toSorted())
  },
)

test('of many installs that named a click before it was there the first 50 are decided again', async () => {
  const app_id = newAppId()
  const click = clickOf({ app_id, clicked_at_ms: noon - hour })
  const referrer = { click_id: click.click_id, signature: 'valid' as const }
  const installs = Array.from({ length: 200 }, (_, n) =>
    installOf({ app_id, referrer, place: placeAt(n), installed_at_ms: noon + n }),
  )
  const wanted = installs.slice(0, 50).map(({ install_uuid }) => `${app_id}/${install_uuid}`)
  expect(await decidedAgain(installs, [click])).toEqual(wanted.toSorted())
})

const placeAt = (offset: number) => ({ topic: 'events.accepted.v1@log', partition: 0, offset, index: 0 })

test.each([
  ['address', { ip: '203.0.113.7' }, {}],
  ['address, of an install without model', { ip: '203.0.113.7', model: null }, {}],
  ['device', { device_hashes: ['d'] }, { device_hashes: ['d'], ip: '203.0.113.8' }],
])('of clicks after an install only the earliest five have it decided again, by %s', async (_what, clues, marks) => {
  const app_id = newAppId()
  const stage = makeStage()
  stage.attributionApps.add({ app_id })
  const [early, late] = [0, 4].map((ms) => installOf({ app_id, ...clues, installed_at_ms: noon + ms }))
  await storeFacts(
    clickhouse,
    [early!, late!].map((fact, offset) => ({ ...fact, place: { ...fact.place, offset } })),
  )
  const addedBy = async (ms: number) => {
    const redecisions = memoryRedecisions({ partitions })
    await publishClicks(stage.broker, [clickOf({ app_id, clicked_at_ms: noon + ms, ...marks })])
    await runToEnd(clickhouse, { ...stage, redecisions })
    return redecisions.names().length
  }
  // Those up to the fourth millisecond are before the second install.
  for (const ms of [1, 2, 3, 4]) expect(await addedBy(ms)).toBe(2)
  expect(await addedBy(50)).toBe(2)
  expect(await addedBy(60)).toBe(1)
  // One that comes late, and is among the earliest.
  expect(await addedBy(40)).toBe(2)
})

const ips = ['203.0.113.7', '203.0.113.8', '2001:db8:1:2::1', '2001:db8:1:2::9'] as const
const blocks: Record<string, string> = { [ips[0]]: 'a', [ips[1]]: 'b', [ips[2]]: 'c', [ips[3]]: 'c' }
const span = fc.constantFrom(0, hour, 5 * hour, day, 2 * day, 30 * day)
const nearly = fc.constantFrom(-1, 0, 1)
const time = fc
  .tuple(span, nearly, fc.constantFrom(-1, 1))
  .map(([length, step, direction]) => noon + direction * length + step)
const looks = {
  ip: fc.constantFrom(...ips),
  os_major: fc.constantFrom(null, 13, 14),
  model: fc.constantFrom(null, 'A', 'B'),
}
const devices = fc.uniqueArray(fc.constantFrom('d1', 'd2', 'd3'), { maxLength: 2 })
const drawnClick = fc.record({
  app: fc.nat(2),
  clicked_at_ms: time,
  filtered_reason: fc.constantFrom(null, null, 'bot' as const, 'honeypot' as const),
  device_hashes: devices,
  ...looks,
})
const drawnInstall = fc.record({
  app: fc.nat(2),
  installed_at_ms: time,
  /** A backend may be ahead of its clock. */
  late_ms: fc.constantFrom(0, 1, hour, -hour, -day, 40 * day),
  is_sdk: fc.boolean(),
  names: fc.option(fc.nat(5), { nil: null }),
  device_hashes: devices,
  ...looks,
  ip: fc.option(looks.ip, { nil: null }),
})
const drawnSettings = fc.record({
  probabilistic: fc.boolean(),
  probabilistic_window_hours: fc.constantFrom(5, 24, 720),
  /** Installs received from here on are judged the other way round. */
  changed_ms: time,
})

type Settings = (received_at_ms: number) => { probabilistic: boolean; probabilistic_window_hours: number }

/** The rule, said once more, without keys, tables or bounds of reading. */
function concerns(click: Click, install: InstallFact, settings: Settings, company: readonly string[]): boolean {
  if (click.filtered_reason === 'honeypot' && install.is_sdk && install.ip !== null) {
    const since = install.received_at_ms - click.clicked_at_ms
    const sameCompany = company.includes(click.app_id) === company.includes(install.app_id)
    if (sameCompany && blocks[install.ip] === blocks[click.ip] && since >= 0 && since < day) return true
  }
  if (click.app_id !== install.app_id) return false
  if ([install.referrer, install.named_click].some((token) => token?.click_id === click.click_id)) return true
  if (click.filtered_reason === 'honeypot') return false
  const before = install.installed_at_ms - click.clicked_at_ms
  if (click.device_hashes.some((one) => install.device_hashes.includes(one)) && before <= 30 * day && before > -day)
    return true
  const { probabilistic, probabilistic_window_hours } = settings(install.received_at_ms)
  if (!probabilistic || install.ip !== click.ip || install.os_major === null) return false
  if (install.os_major !== click.os_major) return false
  if (before > Math.min(probabilistic_window_hours * hour + day, 30 * day) || before <= -hour) return false
  return install.model === null || click.model === null || install.model === click.model
}

test('late clicks have exactly the installs decided again that a look at every pair of click and install finds', async () => {
  const history = fc.record({
    clicks: fc.array(drawnClick, { minLength: 1, maxLength: 25 }),
    installs: fc.array(drawnInstall, { minLength: 1, maxLength: 25 }),
    settings: drawnSettings,
    chunk: fc.integer({ min: 2, max: 25 }),
  })
  let found = 0
  await fc.assert(
    fc.asyncProperty(history, async (drawn) => {
      const apps = [newAppId(), newAppId(), newAppId()]
      const company = apps.slice(0, 2)
      const { changed_ms, ...set } = drawn.settings
      const settings: Settings = (ms) => ({ ...set, probabilistic: set.probabilistic === ms < changed_ms })
      const stage = makeStage()
      stage.broker.chunk_records_max = drawn.chunk
      for (const [n, app_id] of apps.entries()) {
        stage.attributionApps.add({ app_id, company_id: n < 2 ? 'co_1' : 'co_2', settings })
      }
      const clicks = drawn.clicks.map(({ app, ...click }) => clickOf({ app_id: apps[app]!, ...click }))
      const installs = drawn.installs.map(({ app, names, late_ms, ...given }, offset) => {
        const named = names === null ? null : (clicks[names]?.click_id ?? clickIdOf(noon))
        return installOf({
          ...{ app_id: apps[app]!, ...given, received_at_ms: given.installed_at_ms + late_ms },
          place: { topic: 'events.accepted.v1@log', partition: 0, offset, index: 0 },
          named_click: named === null ? null : { click_id: named, signature: 'absent' },
        })
      })
      const alias: AliasFact = { ...installOf({ app_id: apps[0]! }), kind: 'alias', user_id: 'u' }
      const again = await decidedAgain([...installs, alias], clicks, stage)
      const expected = installs.filter((install) => clicks.some((click) => concerns(click, install, settings, company)))
      found += expected.length
      expect(again).toEqual(expected.map(({ app_id, install_uuid }) => `${app_id}/${install_uuid}`).toSorted())
    }),
    { numRuns: 40 },
  )
  expect(found).toBeGreaterThan(20)
})
