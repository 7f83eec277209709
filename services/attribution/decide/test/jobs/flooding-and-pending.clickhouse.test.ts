import { randomUUID } from 'node:crypto'
import type { Decision, KeptClick } from '@tributary/contracts/attribution/decision'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import type { FraudFlag } from '@tributary/contracts/attribution/verdict'
import { clickhouseLookups } from '@tributary/deciding/lookups/clickhouse-lookups'
import { attribute } from '@tributary/domain/attribute/attribute'
import { clickColumns, clickLine } from '@tributary/tables/attribution/clicks'
import { factColumns, factLine } from '@tributary/tables/attribution/facts'
import { installColumns, installLine } from '@tributary/tables/attribution/install-rows'
import type { RedecisionList } from '@tributary/tables/attribution/redecisions'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { memoryAttributionApps } from '@tributary/testing/twins/attribution-apps'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { floodingJob } from '../../src/jobs/flooding.ts'
import { pendingJob } from '../../src/jobs/pending.ts'
import { click, day_ms, hour_ms, install, t0, token } from '../model/story.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

let app_id = ''
let added: string[] = []
const clock = { ms: t0 }
const redecisions: Pick<RedecisionList, 'add'> = {
  async add(installs) {
    added.push(...installs.filter((one) => one.app_id === app_id).map(({ install_uuid }) => install_uuid))
  },
}
const attributionApps = memoryAttributionApps()
const deps = () => ({ clickhouse, redecisions, attributionApps, now: () => clock.ms })
const again = () => added.splice(0).toSorted()

beforeEach(() => {
  app_id = randomUUID()
  added = []
})

const insert = (table: string, columns: readonly string[], lines: string[]) =>
  clickhouse.insert({ table, columns, lines: lines.join('\n'), token: randomUUID() })

const newest = new Map<string, Decision>()
let written = 0
/** Writes an install and a decision about it, as the attributor and install-writer do. */
const decide = (fact: InstallFact, clicks: KeptClick[], flags: FraudFlag[] = []) => decideAll([{ fact, clicks, flags }])

/** The same for many, in one insert. */
async function decideAll(all: { fact: InstallFact; clicks: KeptClick[]; flags?: FraudFlag[] }[]) {
  const installs = all.flatMap(({ fact, clicks, flags = [] }) => decidedLines(fact, clicks, flags))
  await insert(
    'install_facts_v1',
    factColumns,
    all.map(({ fact }) => factLine({ ...fact, app_id })),
  )
  await insert('installs_v1', installColumns, installs)
}

function decidedLines(fact: InstallFact, clicks: KeptClick[], flags: FraudFlag[]): string[] {
  const decided = attribute({
    ...{ install: { ...fact, app_id }, clicks, claims: new Map(), others: [], newest: null },
    ...{ now_ms: clock.ms, clicks_deleted_before_ms: 0 },
    windows: { click_hours: 720, probabilistic_hours: null, reinstall_days: 90 },
    ...{
      isErasedClick: () => false,
      isFlooded: () => flags.includes('click_flooding'),
      datacenter: false,
      blocked: false,
      neighbours_before: 0,
      crowds: new Map(),
    },
  })
  written += 1
  const decided_at = { log: 'installs.found.v1@a', offset: written, try: 1 }
  const decision: Decision = { ...decided, decided_at_ms: clock.ms, decided_at }
  const place = { topic: 'installs.attributed.v1@a', partition: 0, offset: written }
  const key = `${app_id}/${fact.install_uuid}`
  const before = newest.get(key)
  newest.set(key, decision)
  return [
    ...(before === undefined ? [] : [installLine({ decision: before, sign: -1, place })]),
    installLine({ decision, sign: 1, place }),
  ]
}

describe('installs that wait for a click', () => {
  it('are decided again when 24 hours have passed since they were received, and no longer when they are decided', async () => {
    const run = pendingJob(deps())
    const fact = install(1, { referrer: token(7) })
    clock.ms = fact.received_at_ms
    await decide(fact, [])
    clock.ms = fact.received_at_ms + day_ms - 1
    await run()
    expect(again()).toEqual([])
    clock.ms += 1
    await run()
    expect(again()).toEqual(['i1'])
    await run()
    expect(again(), 'added a moment ago').toEqual([])
    clock.ms += hour_ms
    await run()
    expect(again(), 'not decided yet').toEqual(['i1'])
    await decide(fact, [])
    clock.ms += hour_ms
    await run()
    expect(again()).toEqual([])
  })

  it('are all decided again in time, however many before them are never decided', async () => {
    const run = pendingJob(deps())
    const gone = Array.from({ length: 10_001 }, (_, n) => [app_id, t0 + n, `gone${n}`, '2099-06-01', 1, 'a', 0, n])
    const columns = ['app_id', 'received_at_ms', 'install_uuid', 'day', 'sign', 'topic', 'partition', 'offset']
    const lines = gone.map((row) => JSON.stringify(row))
    await insert('installs_pending_v1', columns, lines)
    const fact = install(1, { referrer: token(7), received_at_ms: t0 + hour_ms })
    clock.ms = t0 + hour_ms
    await decide(fact, [])
    clock.ms += day_ms
    await run()
    expect(again()).toEqual([...gone.map((row) => row[2]), 'i1'].toSorted())
    await run()
    expect(again(), 'added a moment ago').toEqual([])
  })

  it.each([60_000, hour_ms, day_ms])(
    'are decided again after a clock that was ahead by %i ms went back',
    async (jump_ms) => {
      const run = pendingJob(deps())
      const fact = install(1, { referrer: token(7) })
      clock.ms = fact.received_at_ms
      await decide(fact, [])
      // It was looked at in the future of more than all that is looked at again.
      clock.ms = fact.received_at_ms + 30 * day_ms + jump_ms
      await run()
      expect(again()).toEqual(['i1'])
      clock.ms = fact.received_at_ms + day_ms + 2 * hour_ms
      await run()
      expect(again(), 'not decided yet').toEqual(['i1'])
      // A restart remembers nothing.
      await pendingJob(deps())()
      expect(again()).toEqual(['i1'])
    },
  )

  it('are decided again however late install-writer wrote them', async () => {
    const run = pendingJob(deps())
    const fact = install(1, { referrer: token(7) })
    clock.ms = fact.received_at_ms + 3 * day_ms
    await run()
    clock.ms = fact.received_at_ms
    await decide(fact, [])
    clock.ms = fact.received_at_ms + 3 * day_ms
    await run()
    expect(again()).toEqual(['i1'])
  })
})

/** Clicks of a source, the first of which brings an install each. */
async function source(partner: string, clicks: number, conversions: number, given: Partial<InstallFact> = {}) {
  const first = Number.parseInt(partner, 36) * 100_000
  const all = Array.from({ length: clicks }, (_, n) =>
    click(first + n, { app_id, partner, device_hashes: [`${partner}${n}`], clicked_at_ms: t0 + n }),
  )
  await insert(
    'clicks_raw_v1',
    clickColumns,
    all.map((one) => clickLine(one, one.place)),
  )
  const facts = all
    .slice(0, conversions)
    .map(({ device_hashes, place }, n) =>
      install(place.offset, { install_uuid: `${partner}${n}`, device_hashes, installed_at_ms: t0 + hour_ms, ...given }),
    )
  await decideAll(facts.map((fact, n) => ({ fact, clicks: [all[n]!] })))
  return { facts, all }
}

describe('flooding of clicks', () => {
  it('flags the installs of a source far below the others of its day, once, and frees them when that has changed', async () => {
    const run = floodingJob(deps())
    const stop = new AbortController().signal
    await source('a', 100, 5)
    const flood = await source('f', 1000, 10)
    await source('s', 1000, 10, { is_sdk: false })
    clock.ms = t0 + 2 * hour_ms
    await run(stop)
    // The others of f: a (5 %) and s (1 %), median 3 %, of which 0.6 % is the fifth: 1 % is above it.
    expect(again()).toEqual([])
    await source('b', 100, 10)
    await source('c', 100, 10)
    await run(stop)
    // Now 1, 5, 10 and 10 %: a fifth of the median is 1.5 %. Installs of a backend are flagged for a forged click only.
    expect(again()).toEqual(flood.facts.map(({ install_uuid }) => install_uuid).toSorted())
    const floods = await clickhouseLookups(clickhouse).floods(app_id, ['2099-06-01', '2099-06-02'])
    expect(floods.map(({ day, partner }) => [day, partner]).toSorted()).toEqual([
      ['2099-06-01', 'f'],
      ['2099-06-01', 's'],
    ])
    for (const [n, fact] of flood.facts.entries()) await decide(fact, [flood.all[n]!], ['click_flooding'])
    // The clock was ahead by a day, and goes back: what is worked out from now on counts all the same.
    clock.ms -= day_ms
    await run(stop)
    expect(again()).toEqual([])
    await source('b', 1, 0)
    for (const [n, one] of flood.all.slice(10, 20).entries()) {
      const fact = install(9e6 + n, { install_uuid: `late${n}`, device_hashes: one.device_hashes })
      await decide(fact, [one])
    }
    await run(stop)
    // 2 % of f are above the fifth by now: the ten that have the flag lose it.
    expect(again()).toEqual(flood.facts.map(({ install_uuid }) => install_uuid).toSorted())
  })
  it('flags every install of a large source, and asks nothing for those that have the flag already', async () => {
    const run = floodingJob(deps())
    const stop = new AbortController().signal
    clock.ms = t0 + 2 * hour_ms
    const flood = await source('f', 11_000, 1001)
    await source('s', 11_000, 20, { is_sdk: false })
    await source('a', 100, 50)
    await source('b', 100, 50)
    await source('c', 100, 50)
    const flagged = flood.facts.slice(0, 2)
    await decideAll(flagged.map((fact, n) => ({ fact, clicks: [flood.all[n]!], flags: ['click_flooding'] })))
    await run(stop)
    expect(again()).toEqual(
      flood.facts
        .slice(2)
        .map(({ install_uuid }) => install_uuid)
        .toSorted(),
    )
  })
})
