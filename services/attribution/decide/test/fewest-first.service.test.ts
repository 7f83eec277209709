import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Broker } from '@tributary/broker/broker'
import { Decision } from '@tributary/contracts/attribution/decision'
import { Found, type InstallFact } from '@tributary/contracts/attribution/found'
import { noTombstones } from '@tributary/domain/erasure/tombstones'
import { installAttributor } from '@tributary/install-attributor/install-attributor'
import type { Batch } from '@tributary/service-kit/consumer/define-consumer'
import { memoryAttributionApps } from '@tributary/testing/twins/attribution-apps'
import { memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'
import { expect, test } from 'vitest'
import { type MemoryTables, memoryLookups } from './model/memory-lookups.ts'
import { app_id, click, hour_ms, install, other_app_id, t0, token } from './model/story.ts'

/** All installs of the app with many name one click; the earliest stands last. */
const many = Array.from({ length: 9 }, (_, n) =>
  install(n, { installed_at_ms: t0 + (9 - n) * hour_ms, named_click: token(1) }),
)
const few = install(9, { app_id: other_app_id, company_id: 'co-2' })

/** More apps with two installs than are loaded at the same time. */
const others = Array.from({ length: 5 }, (_, n) =>
  [0, 1].map((nth) => install(10 + 2 * n + nth, { app_id: `app-${3 + n}`, company_id: `co-${3 + n}` })),
).flat()
const apps = memoryAttributionApps([...many, few, ...others])

interface Faults {
  /** Awaited before the facts of an app are looked up. */
  beforeFacts?: (app_id: string) => Promise<void>
  /** May reject what is about to be published. */
  beforePublish?: (decisions: readonly Decision[]) => void
  /** May reject what is published. */
  afterPublish?: (decisions: readonly Decision[]) => void
}

/** An attributor whose verdicts are written at once. */
function attributor({ beforeFacts = async () => {}, beforePublish = () => {}, afterPublish = () => {} }: Faults = {}) {
  const tables: MemoryTables = { facts: [], clicks: [click(1)], newest: new Map(), floods: [] }
  const lookups = memoryLookups(tables)
  const decided: string[][] = []
  const published: string[] = []
  const { handle } = installAttributor({
    ...{ attributionApps: apps, geo: { lookUp: () => ({ country: null, datacenter: false }) }, now: () => t0 },
    redecisions: memoryRedecisions(),
    clickhouse: { query: async () => [], insert: async () => {} },
    lookups: {
      ...lookups,
      async facts(app, ...given) {
        await beforeFacts(app)
        return lookups.facts(app, ...given)
      },
      // Deciding begins with it.
      newest(app, uuids) {
        if (app === app_id) decided.push([...tables.newest.keys()])
        return lookups.newest(app, uuids)
      },
    },
    broker: {
      groupOffsets: async () => [],
      partitionCount: async () => 1,
      async publish(records: { value: Buffer }[]) {
        const decisions = records.map(({ value }) => Decision.parse(JSON.parse(value.toString())))
        beforePublish(decisions)
        published.push(...decisions.map(({ app_id, install_uuid }) => `${app_id}/${install_uuid}`))
        for (const decision of decisions) tables.newest.set(decision.install_uuid, decision)
        afterPublish(decisions)
      },
    } as unknown as Broker,
  })
  const batch = (attempt: number, facts: readonly InstallFact[], signal: AbortSignal) =>
    ({
      ...{ topic: 'installs.found.v1', partition: 0, source: 'installs.found.v1@a', from: 0, to: 9, token: 't' },
      ...{ attempt, tombstones: noTombstones, state: undefined, signal },
      ...{ keep() {}, fence: async () => {}, dead() {}, dropped() {}, written() {} },
      records: facts.map((fact) => ({ value: Found.parse(fact), record: {} })),
    }) as unknown as Batch<Found>
  return {
    ...{ tables, decided, published },
    handle: (
      attempt: number,
      facts: readonly InstallFact[] = [...many, few],
      signal: AbortSignal = new AbortController().signal,
    ) => handle(batch(attempt, facts, signal)),
  }
}

test('the verdict of an app with few installs is published before the installs of one with many are decided', async () => {
  const { decided, handle } = attributor()
  await handle(1)
  expect(decided[0]).toEqual([few.install_uuid])
})

test('the verdict of an app with few installs waits for no look-up of an app with more', async () => {
  const events: string[] = []
  const { tables, handle } = attributor({
    async beforeFacts(app) {
      if (app === other_app_id) return
      for (let turn = 0; events[0] === undefined && turn < 1000; turn++) await nextTurn()
      events.push('looked up')
    },
    beforePublish: ([decision]) => void events.push(decision!.app_id),
  })
  await handle(1, [few, ...others])
  expect(events[0]).toBe(other_app_id)
  expect(tables.newest.size).toBe(11)
})

test('a batch that was killed between two apps leaves each install decided once, and as without the kill', async () => {
  const { handle: handleWhole, tables: whole } = attributor()
  await handleWhole(1)
  let kills = 1
  const { handle, tables } = attributor({
    beforePublish(decisions) {
      if (decisions[0]!.app_id === app_id && kills-- > 0) throw new Error('killed')
    },
  })
  await expect(handle(1)).rejects.toThrow('killed')
  expect([...tables.newest.keys()]).toEqual([few.install_uuid])
  await handle(2)
  const verdicts = ({ newest }: MemoryTables) =>
    Object.fromEntries([...newest].map(([uuid, { decided_at: _, ...rest }]) => [uuid, rest]))
  expect(verdicts(tables)).toEqual(verdicts(whole))
  const owners = [...tables.newest.values()].filter(({ verdict }) => verdict?.click_id === click(1).click_id)
  expect(owners.map(({ install_uuid }) => install_uuid)).toEqual([many.at(-1)!.install_uuid])
  expect(tables.newest.size).toBe(10)
})

/** An attributor with an app that fails again and again, and one whose publish comes but fails in these tries. */
function failing(doubtful: readonly number[] = []) {
  let attempt = 0
  const one = attributor({
    beforePublish([decision]) {
      if (decision!.app_id === other_app_id) throw new Error('too large')
    },
    afterPublish([decision]) {
      if (decision!.app_id === app_id && doubtful.includes(attempt)) throw new Error('perhaps it came')
    },
  })
  return {
    clicks: one.tables.clicks,
    /** The installs that a try publishes. */
    async publishedBy(nth: number) {
      attempt = nth
      const before = one.published.length
      await expect(one.handle(nth, [few, ...others, ...many])).rejects.toThrow('too large')
      return one.published.slice(before)
    },
  }
}
const named = (facts: readonly InstallFact[]) => facts.map(({ app_id, install_uuid }) => `${app_id}/${install_uuid}`)
const inAnyOrder = (names: readonly string[]) =>
  expect.toSatisfy((all: string[]) => `${all.toSorted()}` === `${names.toSorted()}`)

test('an app that fails holds up the verdicts of no other, and has none published again by the next try', async () => {
  const { publishedBy } = failing()
  expect(await publishedBy(1)).toEqual(inAnyOrder(named([...others, ...many])))
  expect(await publishedBy(2)).toEqual([])
  expect(await publishedBy(3)).toEqual([])
})

test('what a try of another process may still publish is outranked by the next one here', async () => {
  const { publishedBy } = failing()
  await publishedBy(1)
  expect(await publishedBy(3)).toEqual(inAnyOrder(named([...others, ...many])))
  expect(await publishedBy(4)).toEqual([])
})

test('what a failed publish may still bring is outranked by the next try, of that app alone', async () => {
  const { publishedBy } = failing([1])
  await publishedBy(1)
  expect(await publishedBy(2)).toEqual(inAnyOrder(named(many)))
  expect(await publishedBy(3)).toEqual([])
})

test('what a later try decided otherwise and failed to publish is outranked by the one after it', async () => {
  const { clicks, publishedBy } = failing([2])
  clicks.length = 0
  await publishedBy(1)
  clicks.push(click(1))
  const changed = await publishedBy(2)
  expect(changed).toContain(named(many).at(-1))
  expect(await publishedBy(3)).toEqual(changed)
  expect(await publishedBy(4)).toEqual([])
})

test('a batch whose partition is lost loads and decides no further app', async () => {
  const stop = new AbortController()
  const looked_up = new Set<string>()
  const { published, handle } = attributor({
    async beforeFacts(app) {
      looked_up.add(app)
      if (app !== other_app_id) stop.abort(new Error('lost'))
    },
  })
  await expect(handle(1, [few, ...others, ...many], stop.signal)).rejects.toThrow('lost')
  expect(looked_up).not.toContain(app_id)
  expect(published).not.toContain(named(many)[0])
})
