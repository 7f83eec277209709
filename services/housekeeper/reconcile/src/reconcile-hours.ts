import { day_ms, hour_ms, limits } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { openTombstones } from '@tributary/erasure/tombstones'
import { unlessRunning } from '@tributary/postgres/one-at-a-time'
import { sharedMetric } from '@tributary/service-kit/service/shared-metric'
import { daysBetween } from '@tributary/tables/settled/days'
import { listAppFacts } from '@tributary/tenancy/companies/tenants'
import { Gauge } from 'prom-client'
import { comparedNames } from './compared-names.ts'
import { type ReconcilerDeps, sleepOf } from './deps.ts'
import { deadNames } from './look/dead-names.ts'
import { type ActiveApp, findActive } from './look/find-active.ts'
import { hourOf, type Looked } from './look/findings.ts'
import { lookAtApp, lookAtCommon, type Scope } from './look/look.ts'
import type { NamedObject } from './look/look-at-requests.ts'
import { type Look, lookTwice, untilAllWritten } from './look/look-twice.ts'
import { logDifferences, reconcileMetrics } from './metrics.ts'
import { createPace } from './pace.ts'
import { reconcileRange } from './reconcile-range.ts'
import {
  forgetOldHours,
  newestHour,
  type ReconciledHours,
  readReconciledHours,
  recordHours,
} from './reconciled-hours.ts'
import { addDifferences, countDifferences, findOpenDays } from './stored-differences.ts'

/** Hours that are caught up at a time, after a stop. Older ones are compared by the command alone. */
const caught_up_ms_max = 7 * day_ms
/** Apps whose tables a run compares; they come by rounds. */
const table_apps_max = 30
/** Days with differences that a run looks at again, and how long it leaves one alone. */
const open_days_max = 5
const open_again_ms = 2 * hour_ms

/**
 * Compares each hour once it is closed and written, an app after the other, at a share of a core, for ever
 * (docs/operations.md#reconcile). One process of several does it. An hour is compared again when the number of its audit objects has
 * changed. A stop loses the work on one app.
 */
export function reconcileHours(deps: ReconcilerDeps): (stop: AbortSignal) => Promise<void> {
  const { pool, now, logger } = deps
  const metrics = reconcileMetrics(deps.registry)
  let done_ms: number | null = null
  const behind = sharedMetric(deps.registry, Gauge, {
    name: 'tributary_reconcile_behind_seconds',
    help: 'Age of the end of the newest hour that is compared of all apps; 0 before the first.',
    collect() {
      if (done_ms !== null) behind.set((now() - done_ms) / 1000)
    },
  })
  const names = comparedNames(limits.reconcile_names_max)
  const tombstones = openTombstones(deps)

  async function show(): Promise<number | null> {
    const newest = await newestHour(pool, now())
    done_ms = newest === null ? null : newest + hour_ms
    metrics.showDifferences(await countDifferences(pool))
    return newest
  }

  async function keep({ hours, differences }: Looked): Promise<void> {
    metrics.hours.inc(hours.size)
    logDifferences(logger, differences)
    await addDifferences(pool, differences, now())
  }

  /** Compares the hours that end until then. */
  async function compareUntil(until_ms: number, newest: number | null, signal: AbortSignal): Promise<void> {
    const { broker, audit } = deps
    const { pause, paced } = createPace(deps.core_share, signal)
    const sleep = sleepOf(deps)
    const lookDeps = {
      clickhouse: paced(deps.clickhouse),
      audit,
      tombstones,
      pause,
      dead: deadNames(broker),
      now,
      sleep: (ms: number) => sleep(ms, signal),
    }
    await untilAllWritten(broker, signal)
    const from_ms = Math.max(
      newest === null ? until_ms - limits.reconcile_since_ms : newest + hour_ms,
      until_ms - caught_up_ms_max,
    )
    // Objects of a gateway whose clock is a day behind come under hours that are done.
    const days = daysBetween(utcDay(from_ms - day_ms), utcDay(until_ms + day_ms))
    const known = await readReconciledHours(pool, Date.parse(days[0]!))
    const apps = await listAppFacts(pool)
    const table_days = [...new Set([utcDay(until_ms - day_ms), utcDay(until_ms - 1), await oldDay(deps, until_ms)])]
    const active = await findActive(lookDeps, { apps, days, table_days: table_days.filter((day) => day !== '') })
    const first_ms = newest === null ? from_ms : 0
    const twice = { broker, sleep }
    const rounds = Math.ceil(active.length / table_apps_max)
    for (const [index, one] of active.entries()) {
      const { app_id } = one.app
      const due = dueHours(known.get(app_id), first_ms, until_ms)
      const fresh = names.begin()
      const scope: Scope = {
        since_ms: first_ms,
        until_ms,
        choose: (objects) => [...due.choose(objects), ...fresh.choose(objects)],
        isDue: due.isDue,
      }
      const isChosen = index % rounds === (until_ms / hour_ms) % rounds
      const of: ActiveApp = {
        ...one,
        table_days: isChosen ? one.table_days : [],
        settled_days: one.table_days.filter((day) => day < utcDay(until_ms - 1)),
      }
      await keep(await lookTwice(twice, [(suspects) => lookAtApp(lookDeps, scope, of, suspects)], signal))
      await recordHours(pool, app_id, due.compared(days))
      fresh.keep()
    }
    const fresh = names.begin()
    const scope: Scope = {
      since_ms: first_ms,
      until_ms,
      choose: (objects) => fresh.choose(objects, 'timed ones too'),
      isDue: () => true,
    }
    const look: Look = (suspects) =>
      lookAtCommon(lookDeps, scope, { days, apps, with_postbacks: true, now_ms: now() }, suspects)
    await keep(await lookTwice(twice, [look], signal))
    fresh.keep()
    await recordHours(pool, '', new Map([[until_ms - hour_ms, 0]]))
    await forgetOldHours(pool, now())
  }

  /** Whoever repaired a difference need not say so. */
  async function lookAgain(signal: AbortSignal): Promise<void> {
    const open = await findOpenDays(pool, { before_ms: now() - open_again_ms, days_max: open_days_max })
    for (const { app_id, day_ms: at_ms } of open) {
      const { pause, paced } = createPace(deps.core_share, signal)
      const asked = { since_ms: at_ms, until_ms: at_ms, ...(app_id !== '' && { app_id }) }
      const work = { pause, signal, reached() {} }
      const { differences } = await reconcileRange({ ...deps, clickhouse: paced(deps.clickhouse) }, asked, work)
      logDifferences(logger, differences)
    }
  }

  return async (stop) => {
    const newest = await show()
    if (deps.core_share === 0) return
    const until_ms = hourOf(now() - limits.reconcile_closed_ms)
    const isDue = newest === null || newest + hour_ms < until_ms
    await unlessRunning(pool, 'reconciler', async (lost) => {
      const signal = AbortSignal.any([stop, lost])
      if (isDue) await compareUntil(until_ms, newest, signal)
      await lookAgain(signal)
    })
    await show()
  }
}

/** Which hours of an app are compared: those with another number of objects than when they were. */
function dueHours(known: ReconciledHours = new Map(), first_ms: number, until_ms: number) {
  const counted: ReconciledHours = new Map()
  const isDue = (at_ms: number) =>
    at_ms >= first_ms && at_ms < until_ms && (counted.get(at_ms) ?? 0) !== known.get(at_ms)
  return {
    isDue,
    choose(objects: readonly NamedObject[]) {
      const timed = objects.filter(({ received_at_ms }) => received_at_ms !== null)
      for (const { received_at_ms } of timed) {
        const hour = hourOf(received_at_ms!)
        counted.set(hour, (counted.get(hour) ?? 0) + 1)
      }
      return timed.filter(({ received_at_ms }) => isDue(hourOf(received_at_ms!)))
    },
    /** Numbers of objects of the hours of these days that are compared now. */
    compared: (days: readonly string[]): ReconciledHours =>
      new Map(
        days
          .flatMap((day) => Array.from({ length: 24 }, (_, hour) => Date.parse(day) + hour * hour_ms))
          .filter(isDue)
          .map((at_ms) => [at_ms, counted.get(at_ms) ?? 0]),
      ),
  }
}

/** A day of events before yesterday: each hour another one, so that all come by rounds. Empty without any. */
async function oldDay({ clickhouse }: ReconcilerDeps, until_ms: number): Promise<string> {
  const rows = await clickhouse.query<{ on: string }>(
    `SELECT DISTINCT toString(day) AS on FROM events_per_day_v1
     WHERE NOT startsWith(app_id, '/') AND day < {before:Date} ORDER BY on`,
    { before: utcDay(until_ms - day_ms) },
  )
  return rows[(until_ms / hour_ms) % Math.max(1, rows.length)]?.on ?? ''
}
