import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { consumers } from '@tributary/contracts/consumers'
import { countLoggedEvents } from '@tributary/testing/standalone/logged-events'
import { isExact, type SentEvents, type Verdict, verifyEvents } from '@tributary/testing/verify-events'
import { type Fleet, openFleet } from '../fleet.ts'
import type { FleetProcess } from '../fleet-process.ts'
import { type Load, startLoad } from '../load.ts'
import { countReturned, type Erased, mayBeErased, remaining, startErasures } from './erasures.ts'
import { watchFreshness } from './freshness.ts'
import { comparePostbacks, startPostbacks } from './postbacks.ts'
import { type Reconciled, type ReconciledResult, startReconciled } from './reconciled.ts'

export interface SoakOptions {
  minutes: number
  kills: number
  events: number
  gateways: number
  writers: number
  /** Whether a writer is suspended, and all offsets of writers are reset to the beginning later. */
  accidents: boolean
  /** How many times a fault of each kind is seeded, which the reconciler has to find; 0 runs without it. */
  faults: number
  random(): number
  /** Called with the progress now and then. */
  log(line: string): void
}

export interface SoakResult extends Omit<Verdict, 'half'>, Partial<ReconciledResult> {
  in_log: number
  kills: number
  /** Installs that were erased while they went on. */
  erased_installs: number
  /** Erased events of these installs that are in `events_raw_v1`. */
  returned: number
  events_per_second: number
  freshness_p99_ms: number
  postbacks: number
  postbacks_lost: number
  postbacks_unknown: number
}

const apps = 4
const clients = 24
/** Longest time until a killed process restarts, as under a supervisor. */
const away_ms_max = 1500
/**
 * Share of idle writers that may be killed. A killed writer halts its group for the session timeout, so most random kills
 * would hit waiting writers and none in mid-batch.
 */
const idle_writer_part = 0.2
const work_every_ms = 1000
/** Longer than the session of a consumer, `kafkaTimeouts.session_ms`. */
const sleep_ms_min = 7500
const sleep_ms_max = 60_000
const group_empty_ms_max = 180_000
/** Longest time until all is written after the load: a session timeout, then the backlog. */
const written_ms_max = 300_000
/** Erasers are behind at the end of a long load: they halt with each kill, and give way to everything else. */
const erased_ms_max = 900_000
/** The job compares an app after the other, and looks twice at what differs. */
const reconciled_ms_max = 900_000
const log_every_ms = 15_000

/** Runs a fleet under load, kills processes at random with -9, waits until all is written, and compares. */
export async function runSoak(options: SoakOptions): Promise<SoakResult & { exact: boolean }> {
  const { gateways, writers, events, minutes, log } = options
  const fleet = await openFleet({ gateways, writers, apps, env: { TRIBUTARY_ADMIN_TOKEN: randomUUID() } })
  try {
    // The devices come through a proxy, each from an address of its own.
    const receiver = await fleet.startService('postback-gateway', { env: { TRIBUTARY_TRUSTED_PROXIES: '127.0.0.1' } })
    await fleet.startService('postback-writer')
    await Promise.all([fleet.startService('eraser'), fleet.startService('eraser')])
    const reconciled = options.faults > 0 ? await startReconciled(fleet, log) : null
    log(`${gateways} gateways and ${writers} writers are ready`)
    const started = performance.now()
    const freshness = watchFreshness(fleet.clickhouse)
    const erasures = startErasures(fleet, minutes * 60_000)
    const load = startLoad({
      tenants: fleet.tenants,
      gateways: fleet.gateways.map(({ url }) => url),
      clients,
      events_per_second: events / (minutes * 60),
      events_max: events,
      onAcknowledged(request) {
        const [first] = request.sent
        if (first && !mayBeErased(first.install_uuid)) freshness.offer(first)
        // An erasure of what a fault changed would hide it.
        if (reconciled?.apps.includes(first?.app_id ?? '') !== true) erasures.offer(request)
      },
    })
    const postbacks = startPostbacks(receiver.url)
    const progress = setInterval(() => log(lineOf(load, fleet.writers, started)), log_every_ms)
    const kills = await Promise.all([
      killAtRandom(fleet, options),
      load.ended,
      reconciled === null ? null : seedBetween(reconciled, options),
    ]).then(([count]) => count)
    log(
      `${load.acknowledged_events()} events are acknowledged, ${kills} processes were killed; waiting for the writers`,
    )
    await postbacks.stop()
    await fleet.untilWritten(written_ms_max)
    clearInterval(progress)
    const seconds = (performance.now() - started) / 1000
    log('waiting for the erasers')
    const erased = await erasures.end(erased_ms_max)
    await fleet.untilWritten(written_ms_max)
    const fresh_ms = await freshness.end()
    const received = await comparePostbacks(fleet, postbacks, written_ms_max)
    if (reconciled !== null) log('waiting for the reconciler')
    const found = await reconciled?.end(reconciled_ms_max)
    if (reconciled !== null) {
      log('the tables are built again from the audit store')
      await Promise.all([...fleet.writers, ...fleet.others].map((one) => one.stop()))
      await reconciled.rebuild()
    }
    const counted = await compare(fleet, load, erased, { kills, seconds, fresh_ms, dropped: options.faults })
    const whole = received.postbacks_lost === 0 && received.postbacks_unknown === 0
    const right = found === undefined || found.faults_missed.length + found.differences_invented.length === 0
    return { ...counted, ...received, ...found, exact: counted.exact && whole && right }
  } finally {
    await fleet.stop()
  }
}

async function compare(
  { broker, clickhouse }: Fleet,
  load: Load,
  erased: Erased,
  { kills, seconds, fresh_ms, dropped }: { kills: number; seconds: number; fresh_ms: number[]; dropped: number },
) {
  const sorted_ms = fresh_ms.sort((a, b) => a - b)
  const of = (sent: Iterable<SentEvents>) => [...sent].map((one) => remaining(one, erased))
  const {
    half,
    acknowledged: _,
    ...verdict
  } = await verifyEvents(clickhouse, of(load.acknowledged), of(load.unanswered))
  const in_log = await countLoggedEvents(broker, erased.markOf)
  const returned = await countReturned(clickhouse, [...load.acknowledged, ...load.unanswered], erased)
  return {
    acknowledged: load.acknowledged_events(),
    in_log,
    ...verdict,
    kills,
    erased_installs: erased.installs,
    returned,
    events_per_second: Math.round(verdict.in_events_raw / seconds),
    freshness_p99_ms: Math.round(sorted_ms[Math.floor(sorted_ms.length * 0.99)] ?? 0),
    exact:
      isExact({ half, acknowledged: 0, ...verdict }) && in_log + dropped === verdict.in_events_raw && returned === 0,
  }
}

/** Seeds faults at equal shares of the run. */
async function seedBetween(reconciled: Reconciled, { faults, minutes }: SoakOptions): Promise<void> {
  const started = performance.now()
  for (let n = 0; n < faults; n += 1) {
    await pause(Math.max(0, started + ((n + 0.5) * minutes * 60_000) / faults - performance.now()))
    await reconciled.seed()
  }
}

/** Kills one process at a random moment of each equal share of the run, and restarts it after a moment. */
async function killAtRandom(fleet: Fleet, options: SoakOptions): Promise<number> {
  const { minutes, kills, random } = options
  const processes = [...fleet.gateways, ...fleet.writers, ...fleet.others]
  const share_ms = (minutes * 60_000) / Math.max(1, kills)
  const started = performance.now()
  const down = new Map<FleetProcess, Promise<void>>()
  const work = watchWork(fleet)
  for (let kill = 0; kill < kills; kill += 1) {
    if (options.accidents && kill === Math.floor(kills * 0.3)) {
      const sleeper = fleet.writers.find((writer) => !down.has(writer)) ?? fleet.writers[0]!
      down.set(
        sleeper,
        suspend(sleeper, Math.max(sleep_ms_min, Math.min(sleep_ms_max, minutes * 15_000))).then(
          () => void down.delete(sleeper),
        ),
      )
    }
    if (options.accidents && kill === Math.floor(kills * 0.7)) {
      await Promise.all(down.values())
      await resetOffsets(fleet)
    }
    await pause(Math.max(0, started + (kill + random()) * share_ms - performance.now()))
    while (down.size === processes.length) await Promise.race(down.values())
    const victim = choose(
      processes.filter((process) => !down.has(process)),
      (process) => !fleet.writers.includes(process) || work.goes_on() || random() < idle_writer_part,
      random,
    )
    const back = revive(fleet, victim, random() * away_ms_max, options.faults > 0).then(() => void down.delete(victim))
    back.catch(() => {}) // rejects the run below
    down.set(victim, back)
  }
  work.end()
  await Promise.all(down.values())
  return kills
}

/** A random element among the wanted ones, else among all. */
function choose<T>(all: readonly T[], wanted: (one: T) => boolean, random: () => number): T {
  const some = all.filter(wanted)
  const from = some.length > 0 ? some : all
  return from[Math.floor(random() * from.length)]!
}

/** Watches whether writers committed lately. After a kill they can't until the session of the dead writer ends. */
function watchWork(fleet: Fleet) {
  let committed = 0
  let moved_ms = performance.now()
  const timer = setInterval(async () => {
    const seen = (await fleet.progress().catch(() => null))?.committed ?? committed
    if (seen > committed) moved_ms = performance.now()
    committed = seen
  }, work_every_ms)
  return { goes_on: () => performance.now() - moved_ms < 2 * work_every_ms, end: () => clearInterval(timer) }
}

/** Suspends a writer for longer than a session, so that other writers own its partitions when it wakes up. */
async function suspend(writer: FleetProcess, ms: number): Promise<void> {
  process.kill(writer.pid(), 'SIGSTOP')
  await pause(ms)
  writer.resume()
}

/** Resets offsets as an operator does: stops writers, `kafka-consumer-groups --reset-offsets --to-earliest`, starts them. */
async function resetOffsets({ broker, writers }: Fleet): Promise<void> {
  const { name, topic } = consumers.eventWriter
  await Promise.all(writers.map((writer) => writer.kill()))
  const offsets = await broker.groupOffsets(name, topic.name)
  const earliest = offsets.map(({ partition, earliest: offset }) => ({ partition, offset }))
  for (const deadline = performance.now() + group_empty_ms_max; ; await pause(500)) {
    // Until the sessions of the writers are over, the group has members.
    const moved = await broker.moveGroup(name, topic.name, earliest).then(
      () => null,
      (error: Error) => error,
    )
    if (moved === null) break
    if (performance.now() > deadline) throw moved
  }
  await Promise.all(writers.map((writer) => writer.restart()))
}

/**
 * Kills and restarts a process. Each gateway process gets a new bucket, because the S3 test server is slow with large ones, unless the
 * reconciler compares them.
 */
async function revive(fleet: Fleet, victim: FleetProcess, away_ms: number, one_bucket: boolean): Promise<void> {
  await victim.kill()
  await pause(away_ms)
  const moves = fleet.gateways.includes(victim) && !one_bucket
  await victim.restart(moves ? { TRIBUTARY_S3_BUCKET: await fleet.makeBucket() } : {})
}

function lineOf(load: Load, writers: readonly FleetProcess[], started: number): string {
  const seconds = Math.round((performance.now() - started) / 1000)
  const alive = writers.filter((writer) => writer.lives()).length
  return `${seconds} s: ${load.acknowledged_events()} events acknowledged, ${alive} writers alive`
}
