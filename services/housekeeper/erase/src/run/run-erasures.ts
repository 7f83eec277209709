import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { CodedError } from '@tributary/contracts/errors'
import { day_ms, limits } from '@tributary/contracts/limits'
import type { InstallOfApp } from '@tributary/erasure/older-intents'
import { raw_events_lock } from '@tributary/erasure/raw-events-lock'
import { requestRun } from '@tributary/erasure/runs'
import { writeTombstones } from '@tributary/erasure/write-tombstones'
import { unlessRunning } from '@tributary/postgres/one-at-a-time'
import type { RedecisionList } from '@tributary/tables/attribution/redecisions'
import { endErased, removeErased } from '@tributary/tables/partners/erased-postbacks'
import { forgetRawErasures } from '@tributary/tables/raw/raw-erasures'
import { removeErasedReceipts } from '@tributary/tables/receipts/due-receipts'
import { eraseFromPurchases } from '@tributary/tables/receipts/store-purchases'
import type { Logger } from 'pino'
import type { ErasedInstall, OpenWork, StoredBatch } from '../batch/batch.ts'
import { carryOut } from '../batch/carry-out.ts'
import { findClicks } from '../batch/find-clicks.ts'
import { planBatch } from '../batch/plan-batch.ts'
import type { EraserMetrics } from '../metrics.ts'
import { type Failures, openFailures } from './failures.ts'
import {
  AuditAwayError,
  completeRequests,
  type ErasedClickOfApp,
  findEmptied,
  findErasedClicks,
  findLockedApps,
  findNextInstalls,
  findOpenApps,
  findQueuedApps,
  type RequestStore,
  removeErasedClicks,
  removeMarks,
} from './open-requests.ts'
import { resting } from './resting.ts'
import { rewriteParts } from './rewrite-parts.ts'
import { endBatch, findBatch, storeBatch, storePlan } from './stored-batches.ts'
import { newestNumber, type Taking, takeInTurn } from './take-in-turn.ts'

/** Rewrites audit objects; each gives back how many held something of an install, by `install_uuid`. */
export interface AuditRewriting {
  findAudited(
    ...asked: [...Parameters<RequestStore['findAudited']>, AbortSignal]
  ): ReturnType<RequestStore['findAudited']>
  rewriteApp(app_id: string, installs: readonly ErasedInstall[], signal: AbortSignal): Promise<Map<string, number>>
  rewriteArchives(clicks: readonly ErasedClickOfApp[], signal: AbortSignal): Promise<Map<string, number>>
  /** The objects of what came after an erasure. */
  rewriteNoted(signal: AbortSignal): Promise<void>
}

export interface EraserDeps extends Omit<RequestStore, 'findAudited' | 'whileRawEventsStay'> {
  clickhouse: Clickhouse
  redecisions: Pick<RedecisionList, 'add'>
  /** Batches of consumers that know fewer tombstones, in partitions that may hold something of the installs. */
  findOlderWork(tombstones: number, installs: readonly InstallOfApp[]): Promise<OpenWork[]>
  audit: AuditRewriting
  pause(ms: number, signal: AbortSignal): Promise<void>
  logger: Logger
  metrics?: EraserMetrics
  /** Rejects when another process may erase by now. */
  leaseHeld?(): Promise<void>
  /** Tests end a run at a step here, as a kill would. */
  atStep?: (step: string) => void
}

/** Between two looks whether consumers have ended the batches that hold everything up. */
const wait_pause_ms = 250
/** Between two looks for new requests, at most. */
const look_again_ms = 10_000

/**
 * One run: takes what is queued, empties the tables of each app in turn, a batch at a time, rewrites parts and audit objects, and
 * completes the requests. It first goes on with the batches that an earlier run left half-done, and asks for another run where
 * requests came meanwhile. Rejects when an engine is away or the signal fires; the next call goes on. What fails for one app is logged,
 * and rejects when all others are done. The caller holds a lease, so one process at a time erases.
 */
export async function runErasures(deps: EraserDeps, run: number, signal: AbortSignal): Promise<void> {
  // A statement of an earlier process may still run in the engine, and end after those of this one.
  if (await deps.clickhouse.isInserting('eraser/')) {
    throw new CodedError('unavailable', { message: 'an earlier statement of the eraser is still at work' })
  }
  await forgetRawErasures(deps.pool)
  const locked = await findLockedApps(deps)
  if (locked.length > 0) deps.logger.error({ locked }, 'erasures wait: the salts of their apps cannot be decrypted')
  const failures = openFailures(deps, signal)
  const taking = await openTaking(deps, failures, signal)
  const context = { ...deps, run, taking, failures }
  await carryOutFirst(context, await taking.take(), signal)
  failures.throwFirst()
  // The next run has the requests that came meanwhile, so no flood of them keeps this one from its end.
  const left = [...(await findOpenApps(deps)), ...(await findQueuedApps(deps))]
  if (left.length > 0) await requestRun(deps.pool, deps.now())
}

interface RunTaking extends Taking {
  /** Whether the last look for requests was some time ago: each may read the audit objects of a day of the apps that have new ones. */
  isDue(): boolean
}

/** What takes requests while raw events stay. Once the audit store is away nothing is taken, and what was taken before goes on. */
async function openTaking(deps: EraserDeps, failures: Failures, signal: AbortSignal): Promise<RunTaking> {
  const taking = await takeInTurn(
    {
      ...deps,
      findAudited: (...asked) =>
        deps.audit.findAudited(...asked, signal).catch((cause: unknown) => {
          signal.throwIfAborted()
          throw new AuditAwayError('unavailable', { message: 'The audit store is away: no erasure begins.', cause })
        }),
      whileRawEventsStay: (step) => whileRawEventsStay(deps, signal, step),
    },
    failures,
  )
  const look = resting(deps.now, look_again_ms)
  let is_away = false
  return {
    ...taking,
    isDue: look.isOver,
    take: () =>
      look.after(async () => {
        if (is_away) return []
        return taking.take().catch(async (err: unknown) => {
          if (!(err instanceof AuditAwayError)) throw err
          is_away = true
          await failures.add(null, err)
          return []
        })
      }),
  }
}

interface RunContext extends EraserDeps {
  run: number
  taking: RunTaking
  failures: Failures
}

/** The apps that have not failed. */
const unfailed = ({ failures }: RunContext, apps: readonly string[]) => apps.filter((app_id) => !failures.has(app_id))

/**
 * Carries out all that is open, app by app in turn, until what was taken first is done; `waiting` is what taking waits for. What is asked
 * for meanwhile is taken too and has its turns, so that no app waits for the flood of another one.
 */
async function carryOutFirst(context: RunContext, waiting: OpenWork[], signal: AbortSignal): Promise<void> {
  const { run, taking, failures, audit, pool, now, pause } = context
  const waits = new Map<string, number>()
  const finishing = resting(now, limits.erasure_finish_pause_ms)
  let noted_ms = Number.NEGATIVE_INFINITY
  let open = waiting
  let first = open.length > 0 ? null : await newestNumber(pool)
  const rewriteNoted = () => audit.rewriteNoted(signal).catch((err: unknown) => failures.add(null, err))
  while (first === null || unfailed(context, await findOpenApps(context, first)).length > 0) {
    let moved = false
    for (const app_id of unfailed(context, await findOpenApps(context))) {
      signal.throwIfAborted()
      const older = await whileRawEventsStay(context, signal, (held) =>
        eraseSome({ ...context, ...held }, run, app_id, held.signal),
      ).catch((err: unknown) => ({ err }))
      if ('err' in older) await failures.add(app_id, older.err)
      else if (older.length === 0) {
        moved = true
        waits.delete(app_id)
      } else logWait(context, waits, app_id, older)
    }
    if (open.length > 0 || taking.isDue()) {
      open = await taking.take()
      if (open.length > 0) logWait(context, waits, 'all', open)
      else {
        waits.delete('all')
        first ??= await newestNumber(pool)
      }
    }
    // It rewrites parts of all apps.
    if (!moved || finishing.isOver()) await finishing.after(() => completeEmptied(context, signal, failures))
    if (moved) continue
    if (Math.abs(now() - noted_ms) >= day_ms) {
      // Objects of events that came after earlier erasures wait for no consumer.
      await rewriteNoted()
      noted_ms = now()
    }
    await pause(wait_pause_ms, signal)
  }
  context.atStep?.('rewrite noted objects')
  await rewriteNoted()
  await completeEmptied(context, signal, failures, first)
}

/**
 * One step of a run while retention deletes no raw events, which tell an erased life from a new one. Retention has its turn between two
 * steps, as after a kill: an erasure that waits for a consumer holds up nobody's raw events.
 */
async function whileRawEventsStay<T>(
  deps: EraserDeps,
  signal: AbortSignal,
  step: (held: { signal: AbortSignal; leaseHeld(): Promise<void> }) => Promise<T>,
): Promise<T> {
  for (;;) {
    signal.throwIfAborted()
    const done = await unlessRunning(deps.pool, raw_events_lock, (lost, held) =>
      step({
        signal: AbortSignal.any([signal, lost]),
        async leaseHeld() {
          await deps.leaseHeld?.()
          await held()
        },
      }),
    )
    if (done !== null) return done.result
    await deps.pause(wait_pause_ms, signal)
  }
}

type RunDeps = EraserDeps & { taking: Pick<Taking, 'unreadSince'> }

/** Does the next step of the batch of an app; returns the consumers that it has to wait for instead. */
async function eraseSome(deps: RunDeps, run: number, app_id: string, signal: AbortSignal): Promise<OpenWork[]> {
  const { pool, clickhouse, now, metrics } = deps
  const begun = await findBatch(pool, app_id)
  if (begun === null) return beginBatch(deps, run, app_id)
  const older = await deps.findOlderWork(begun.tombstones, ofApp(app_id, begun.installs))
  if (older.length > 0) return older
  // What is due is not sent, and whoever is in a try has logged it, before rows of the log are looked for.
  if (await endErased(pool, app_id, begun.installs)) return [forwarder]
  const plan = begun.plan ?? (await planBatch(clickhouse, begun))
  const stored = { ...begun, plan }
  const beforeStep = async (step: string) => {
    signal.throwIfAborted()
    await deps.leaseHeld?.()
    deps.atStep?.(step)
  }
  await beforeStep('store')
  if (begun.plan === null && plan !== null) await storePlan(pool, stored)
  if (plan !== null) await carryOut({ ...deps, beforeStep }, { ...stored, plan })
  await removeErased(pool, app_id, begun.installs)
  await removeErasedReceipts(pool, app_id, begun.installs)
  await eraseFromPurchases(pool, app_id, begun.installs)
  await beforeStep('end')
  await endBatch(pool, stored, now())
  metrics?.batch(stored)
  return []
}

/** Its tries end within their lease, killed ones too. */
const forwarder: OpenWork = { consumer: 'postback-forwarder', partition: 0 }

const ofApp = (app_id: string, installs: readonly ErasedInstall[]): InstallOfApp[] =>
  installs.map(({ install_uuid }) => ({ app_id, install_uuid }))

/** Stores a batch of the next installs with its clicks, whose tombstones are written first. */
async function beginBatch(deps: RunDeps, run: number, app_id: string): Promise<OpenWork[]> {
  const { pool, masterKeys, clickhouse } = deps
  const { installs, tombstones } = await findNextInstalls(pool, app_id)
  if (installs.length === 0) return []
  const older = [
    ...(await deps.findOlderWork(tombstones, ofApp(app_id, installs))),
    ...(await deps.taking.unreadSince(tombstones)),
  ]
  if (older.length > 0) return older
  const { clicks, more } = await findClicks(clickhouse, app_id, installs)
  const mark_ms = Math.max(...installs.map((one) => one.mark_ms))
  const written = clicks.map(({ click_id: id }) => ({ app_id, kind: 'click' as const, id, mark_ms }))
  const newest = clicks.length === 0 ? tombstones : (await writeTombstones({ pool, masterKeys }, written)).newest
  deps.atStep?.('begin')
  const batch: StoredBatch = {
    ...{ batch: randomUUID(), app_id, run, tombstones: newest, installs, clicks, more_clicks: more, plan: null },
  }
  await storeBatch(pool, batch)
  return []
}

/** Parts and audit objects, once for all requests whose tables are empty; then these are completed. */
async function completeEmptied(deps: EraserDeps, signal: AbortSignal, failures: Failures, up_to = 0): Promise<void> {
  const { pool, audit, atStep } = deps
  const emptied = [...(await findEmptied(pool, up_to))].filter(([app_id]) => !failures.has(app_id))
  if (emptied.length === 0) return
  atStep?.('rewrite parts')
  await rewriteParts(deps.clickhouse, signal)
  const ofApps = new Set(emptied.map(([app_id]) => app_id))
  const clicks = (await findErasedClicks(pool)).filter(({ app_id }) => ofApps.has(app_id))
  atStep?.('rewrite archives')
  const ofClicks = await audit.rewriteArchives(clicks, signal)
  for (const [app_id, installs] of emptied) {
    signal.throwIfAborted()
    await completeApp(deps, app_id, installs, ofClicks, signal).catch((err: unknown) => failures.add(app_id, err))
  }
  await removeErasedClicks(
    pool,
    clicks.filter(({ app_id }) => !failures.has(app_id)),
  )
}

/** Takes the installs of an app out of its audit objects, and completes their requests. */
async function completeApp(
  deps: EraserDeps,
  app_id: string,
  installs: readonly ErasedInstall[],
  ofClicks: ReadonlyMap<string, number>,
  signal: AbortSignal,
): Promise<void> {
  deps.atStep?.('rewrite audit')
  const rewritten = await deps.audit.rewriteApp(app_id, installs, signal)
  const objectsOf = (uuid: string) => (rewritten.get(uuid) ?? 0) + (ofClicks.get(uuid) ?? 0)
  const counted = installs.map((one) => ({ ...one, objects: objectsOf(one.install_uuid) }))
  deps.metrics?.objects(counted.reduce((sum, { objects }) => sum + objects, 0))
  deps.atStep?.('complete')
  // A gateway may have set one since the erasure began.
  await removeMarks(deps.keyValue, ofApp(app_id, installs))
  await completeRequests(deps.pool, app_id, counted)
}

/** Logs which consumers hold an app up, once it takes long. */
function logWait({ now, logger, metrics }: EraserDeps, waits: Map<string, number>, app_id: string, older: OpenWork[]) {
  const since_ms = waits.get(app_id) ?? now()
  waits.set(app_id, since_ms)
  if (Math.abs(now() - since_ms) < limits.erasure_wait_logged_ms) return
  waits.set(app_id, now())
  metrics?.waiting(older)
  logger.warn({ app_id, older }, 'an erasure waits for batches of consumers that were begun before it')
}
