import type { Broker } from '@tributary/broker/broker'
import type { InsertBlock } from '@tributary/clickhouse/clickhouse'
import { Decision, type KeptClick } from '@tributary/contracts/attribution/decision'
import { type Fact, Found, type InstallFact } from '@tributary/contracts/attribution/found'
import type { AttributionSettings } from '@tributary/contracts/attribution/settings'
import type { Windows } from '@tributary/contracts/attribution/verdict'
import { consumers } from '@tributary/contracts/consumers'
import { limits } from '@tributary/contracts/limits'
import { addressBlock, addressNetwork } from '@tributary/contracts/networks'
import type { Lookups } from '@tributary/deciding/lookups/lookups'
import { attribute, clickWindowsOf, windowsOf } from '@tributary/domain/attribute/attribute'
import type { Attributed } from '@tributary/domain/attribute/decisions'
import { installOf, otherOf } from '@tributary/domain/attribute/install-of'
import { candidatesOf, namedClicks } from '@tributary/domain/attribute/match-click'
import { clickKeys, factKeys, matchKey } from '@tributary/domain/attribute/match-keys'
import { byInstall, byPlace, byTime, type Claim } from '@tributary/domain/attribute/verdict'
import { noTombstones, type Tombstones } from '@tributary/domain/erasure/tombstones'
import { installAttributor } from '@tributary/install-attributor/install-attributor'
import type { Batch } from '@tributary/service-kit/consumer/define-consumer'
import type { Slice, TakenRedecision } from '@tributary/tables/attribution/redecisions'
import { memoryAttributionApps } from '@tributary/testing/twins/attribution-apps'
import { memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'
import { type MemoryTables, memoryLookups } from './memory-lookups.ts'
import { app_id, company_id, day_ms, hour_ms, other_app_id } from './story.ts'

/** A hosting network. */
const hosting = '198.51.100.9'
const geo = { lookUp: (ip: string) => ({ country: null, datacenter: ip === hosting }) }
/** Settings of the first app that differ from those of an app without any. */
export const own_settings: Partial<AttributionSettings> = {}
export const apps = memoryAttributionApps([
  { app_id, company_id, settings: own_settings },
  { app_id: other_app_id, company_id: 'co-2' },
])
const log = 'installs.found.v1@a'

/** Keeps the same rows in the tables of an engine. */
export interface Mirror {
  lookups: Lookups
  insert(block: InsertBlock): Promise<void>
  writeClick(click: KeptClick): Promise<void>
  writeDecision(decision: Decision, before: Decision | undefined): Promise<void>
}

export class Killed extends Error {}

/**
 * The loop of attribution in memory: the attributor as it is, what install-writer does with decisions, and what click-writer
 * does with clicks. A kill leaves what was done up to it; what a killed try had still to publish and to finish may come later.
 * `pick` chooses how many re-decisions a try takes, and which.
 */
export function world(clock: { ms: number }, mirror?: Mirror, pick: (below: number) => number = () => 0) {
  const tables: MemoryTables = { facts: [], clicks: [], newest: new Map(), floods: [] }
  const found: Found[] = []
  const decisions: Decision[] = []
  /** Decisions of killed tries that have not come yet. */
  const asleep: Decision[] = []
  const list = memoryRedecisions({ newestFirst: () => pick(2) === 1 })
  /** What the try in hand took. */
  let taken: [Slice, TakenRedecision[]] | null = null
  /** What killed tries had taken and decided: they may finish it once all of their decisions have come. */
  const unfinished: [Slice, TakenRedecision[]][] = []
  let effects_left = Number.POSITIVE_INFINITY
  const mayBeKilled = () => {
    if (effects_left-- <= 0) throw new Killed()
  }

  /** A kill may come before an effect, and after it. */
  async function killably<T>(work: () => Promise<T>): Promise<T> {
    mayBeKilled()
    const done = await work()
    mayBeKilled()
    return done
  }

  /** The apps of the batch in hand. */
  let of_batch: ReadonlySet<string> = new Set()

  /** The try is killed when it has decided an app. With the decisions of others still to be made it finishes nothing. */
  function fallAsleep(left: readonly Decision[]) {
    asleep.push(...left)
    if (taken === null) return
    const of_try = new Set([...of_batch, ...taken[1].map((entry) => entry.app_id)])
    if (left.length === 0 || of_try.size === 1) unfinished.push(taken)
  }

  /** One after the other: a killed try leaves its wait behind, and with it a writer at work. */
  let writing: Promise<void> = Promise.resolve()
  const writeDecisions = () => {
    writing = writing.then(writeAll)
    return writing
  }

  /** What install-writer does: a decision that is behind the written one is ignored. */
  async function writeAll() {
    for (const decision of decisions.splice(0)) {
      const known = tables.newest.get(decision.install_uuid)?.decided_at
      const { offset, try: begun } = decision.decided_at
      const isBehind = known !== undefined && (offset - known.offset || begun - known.try) < 0
      if (isBehind) continue
      await mirror?.writeDecision(decision, tables.newest.get(decision.install_uuid))
      tables.newest.set(decision.install_uuid, decision)
    }
  }

  const broker = {
    async groupOffsets(name: string) {
      if (name === consumers.installWriter.name) await writeDecisions()
      return []
    },
    partitionCount: async () => 1,
    async publish(records: { topic: string; value: Buffer }[]) {
      const all = records.map(({ value }) => JSON.parse(value.toString()))
      for (const [n, value] of all.entries()) {
        const isTick = records[n]!.topic === consumers.installAttributor.topic.name
        try {
          mayBeKilled()
        } catch (err) {
          if (!isTick) fallAsleep(all.slice(n))
          throw err
        }
        if (isTick) found.push(Found.parse(value))
        else decisions.push(Decision.parse(value))
      }
    },
  } as unknown as Broker

  const newProcess = () =>
    installAttributor({
      ...{ broker, lookups: mirror?.lookups ?? memoryLookups(tables), attributionApps: apps, geo, now: () => clock.ms },
      redecisions: {
        ...list,
        add: (installs) => killably(() => list.add(installs)),
        take: (slice) =>
          killably(async () => {
            const entries = await list.take(slice, 1 + pick(3))
            taken = [slice, entries]
            return entries
          }),
        async finish(slice, decided) {
          try {
            return await killably(() => list.finish(slice, decided))
          } catch (err) {
            fallAsleep([])
            throw err
          }
        },
      },
      clickhouse: {
        query: async () => [],
        insert: (block) =>
          killably(async () => {
            await mirror?.insert(block)
            for (const line of String(block.lines).split('\n')) {
              const fact = JSON.parse(JSON.parse(line)[5]) as Fact
              if (!tables.facts.some(({ place }) => byPlace(place, fact.place) === 0)) tables.facts.push(fact)
            }
          }),
      },
    })
  let attributor = newProcess()

  let next = 0
  let tombstones = noTombstones
  return {
    ...{ tables, found, asleep, list },
    /** Whether a fact or a re-decision waits. */
    hasWork: () => found.length > next || list.names().length > 0,
    /** The next records as one batch, begun again after each kill; `kills`: effects up to each. */
    async handle(records: number, kills: readonly number[], between: () => Promise<void>) {
      // What the job does about re-decisions of an idle partition.
      if (found.length === next) found.push({ kind: 'tick', v: 1 })
      const batch = found.slice(next, next + records)
      of_batch = new Set(batch.flatMap((one) => (one.kind === 'tick' ? [] : one.app_id)))
      for (let begun = 1; ; begun += 1) {
        effects_left = kills[begun - 1] ?? Number.POSITIVE_INFINITY
        taken = null
        try {
          await attributor.handle(batchOf(batch, next, begun, tombstones))
          break
        } catch (err) {
          if (!(err instanceof Killed)) throw err
          // Otherwise what failed is tried again by the same one.
          if (pick(2) === 0) attributor = newProcess()
          await between()
        }
      }
      effects_left = Number.POSITIVE_INFINITY
      next += batch.length
    },
    /** Batches pin these from now on; what older ones published is written. */
    async pin(pinned: Tombstones) {
      await writeDecisions()
      tombstones = pinned
    },
    decideAllAgain: () => list.add(installsOf(tables.facts).map((facts) => facts[0]!)),
    /** What click-writer does: the click, then the installs that it touches are on the list. */
    async writeClick(click: KeptClick) {
      await mirror?.writeClick(click)
      tables.clicks.push(click)
      const clicks = tables.clicks.filter((one) => one.app_id === click.app_id)
      const of_app = tables.facts.filter((fact) => fact.app_id === click.app_id)
      const seeing = new Set<Fact>(firstSeeing(of_app, click))
      const touched = installsOf(of_app).filter((facts) => {
        const isSeen = click.filtered_reason === 'honeypot' || facts.some((fact) => seeing.has(fact))
        return isSeen && isTouched(facts, click, clicks)
      })
      await list.add(touched.map((facts) => facts[0]!))
    },
    /** Killed tries go on from their decisions. */
    async wakeUp() {
      decisions.push(...asleep.splice(0))
      for (const [slice, entries] of unfinished.splice(0)) await list.finish(slice, entries)
    },
    /** What the job does about installs that have waited long enough. */
    async decidePending() {
      await writeDecisions()
      await list.add([...tables.newest.values()].filter(({ pending }) => pending))
    },
    async verdicts() {
      await writeDecisions()
      return Object.fromEntries(
        [...tables.newest].map(([uuid, { decided_at, decided_at_ms, ...rest }]) => [uuid, rest]),
      )
    },
  }
}

const installsOf = (facts: readonly Fact[]): Fact[][] => [
  ...Map.groupBy(facts, ({ install_uuid }) => install_uuid).values(),
]
export const settingsAt = (await apps.find(app_id))!.settingsAt

/** Facts that see a click by one of its keys: the first after it, and the first after the time from which it is shown. */
function firstSeeing(facts: readonly Fact[], click: KeptClick): InstallFact[] {
  const installs = facts.filter((fact): fact is InstallFact => fact.kind === 'install').toSorted(byInstall)
  const keys = [matchKey('click', click.click_id), ...clickKeys(click)]
  return keys.flatMap((key, n) =>
    [click.clicked_at_ms, n === 0 ? 0 : click.clicked_at_ms - day_ms].flatMap((from_ms) =>
      installs
        .filter((fact) => fact.installed_at_ms >= from_ms && factKeys(fact).includes(key))
        .slice(0, limits.crowd_facts),
    ),
  )
}

function isTouched(facts: readonly Fact[], click: KeptClick, clicks: readonly KeptClick[]): boolean {
  const install = installOf(facts)
  if (install === null) return false
  if (click.filtered_reason === 'honeypot')
    return install.ip !== null && addressBlock(install.ip) === addressBlock(click.ip)
  if (candidatesOf(install, [click], clickWindowsOf(windowsOf(install, null, settingsAt))).length === 0) return false
  const at_ms = install.installed_at_ms
  if (namedClicks(install).includes(click.click_id) || click.clicked_at_ms <= at_ms) return true
  const shared = clickKeys(click).filter((key) => factKeys(install).includes(key))
  return shared.some((key) => {
    const between = clicks.filter(({ clicked_at_ms: ms, click_id }) => {
      return ms > at_ms && (ms < click.clicked_at_ms || (ms === click.clicked_at_ms && click_id < click.click_id))
    })
    return between.filter((one) => clickKeys(one).includes(key)).length < limits.candidates_after_max
  })
}

function batchOf(found: readonly Found[], from: number, attempt: number, tombstones: Tombstones): Batch<Found> {
  const { topic } = consumers.installAttributor
  return {
    ...{
      topic: topic.name,
      partition: 0,
      source: log,
      from,
      to: from + found.length - 1,
      attempt,
      state: undefined,
    },
    tombstones,
    stored_at_ms: 0,
    ...{ token: `t/${from}`, signal: new AbortController().signal },
    records: found.map((value) => ({ value, record: {} as never })),
    ...{ keep() {}, fence: async () => {}, dead() {}, dropped() {}, written() {} },
  }
}

/** The rule said once more: of each key the time of the fact before which, and with which, there are enough. */
function crowdsAmong(facts: readonly Fact[], install: InstallFact): Map<string, number> {
  const crowds = new Map<string, number>()
  for (const key of factKeys(install)) {
    const before = facts.filter(
      (fact): fact is InstallFact =>
        fact.kind === 'install' && factKeys(fact).includes(key) && byInstall(fact, install) < 0,
    )
    const distinct = [...Map.groupBy(before, ({ place }) => JSON.stringify(place)).values()].map(([fact]) => fact!)
    const latest = distinct.toSorted(byInstall).at(-limits.crowd_facts)
    if (latest !== undefined) crowds.set(key, latest.installed_at_ms)
  }
  return crowds
}

/** Knows everything at once: installs in their order, each takes the best click that none before it has. */
export function bruteForce(
  facts: readonly Fact[],
  clicks: readonly KeptClick[],
  now_ms: number,
  isErasedClick: (click_id: string) => boolean = () => false,
  windowsAt = (install: InstallFact): Windows => windowsOf(install, null, settingsAt),
): Record<string, Attributed> {
  const claims = new Map<string, Claim>()
  const all = installsOf(facts)
  const installs = all.flatMap((of) => installOf(of) ?? []).toSorted(byInstall)
  const verdicts = installs.map((one) => {
    const { ip, is_sdk, received_at_ms, place } = one
    const others = all.filter(([fact]) => fact!.install_uuid !== one.install_uuid).flatMap((of) => otherOf(of) ?? [])
    const judged = is_sdk && ip !== null
    const before = installs.filter((other) => {
      if (!judged || !other.is_sdk || other.ip === null || addressNetwork(other.ip) !== addressNetwork(ip)) return false
      const order = byTime({ at_ms: other.received_at_ms, place: other.place }, { at_ms: received_at_ms, place })
      return order < 0 && other.received_at_ms > received_at_ms - hour_ms
    })
    const decided = attribute({
      crowds: crowdsAmong(facts, one),
      ...{
        install: one,
        clicks,
        claims,
        others,
        newest: null,
        now_ms,
        clicks_deleted_before_ms: 0,
        isErasedClick,
        isFlooded: () => false,
      },
      windows: windowsAt(one),
      datacenter: judged && geo.lookUp(ip).datacenter,
      blocked:
        judged &&
        clicks.some(({ filtered_reason, ip: of, clicked_at_ms }) => {
          const age_ms = received_at_ms - clicked_at_ms
          return (
            filtered_reason === 'honeypot' && addressBlock(of) === addressBlock(ip) && age_ms >= 0 && age_ms < day_ms
          )
        }),
      neighbours_before: before.length,
    })
    const click_id = decided.verdict?.click_id ?? null
    if (click_id !== null) claims.set(click_id, one)
    return [one.install_uuid, decided] as const
  })
  return Object.fromEntries(verdicts)
}
