import { day_ms, hour_ms, limits } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { daysBetween } from '@tributary/tables/settled/days'
import { type AppFacts, listAppFacts } from '@tributary/tenancy/companies/tenants'
import { openStores, type ReconcilerDeps, sleepOf } from '../deps.ts'
import { type ActiveApp, findActive } from '../look/find-active.ts'
import type { Looked } from '../look/findings.ts'
import { lookAtApp, lookAtCommon, type Scope } from '../look/look.ts'
import type { StoreDeps } from '../look/look-deps.ts'
import { type Look, lookTwice, untilAllWritten } from '../look/look-twice.ts'
import { createPace } from '../pace.ts'
import type { ComparedNames } from './compared-names.ts'
import { dueHours, fallenDays } from './due-hours.ts'
import { hours_kept_ms, type ReconciledHours, readReconciledHours, recordHours } from './reconciled-hours.ts'
import { findTurn, type Turn } from './turns.ts'

/** Hours that are caught up at a time, after a stop. Older ones are compared by the command alone. */
const caught_up_ms_max = 7 * day_ms

interface Given {
  /** The hours that end until then, Unix epoch ms, and the newest one that is done; null without one. */
  until_ms: number
  newest: number | null
  names: ComparedNames
  /** Keeps what was found. */
  keep(looked: Looked): Promise<void>
  signal: AbortSignal
}

/** What a run compares. */
interface Plan extends Given {
  stores: StoreDeps
  first_ms: number
  /** What came later is left to the next run. */
  young_ms: number
  /** UTC days of receipt in which something may have come. */
  recent: readonly string[]
  /** The same, and those of which the tables of some app have lost events. */
  days: readonly string[]
  apps: ReadonlyMap<string, AppFacts>
  active: readonly ActiveApp[]
  known: ReadonlyMap<string, ReconciledHours>
  /** Events by day of receipt, by app. */
  events: ReadonlyMap<string, ReadonlyMap<string, number>>
  turn: Turn
}

/**
 * Compares what is due, an app after the other, at a share of a core. An app that can't be compared keeps no other one from it: its hours
 * stay due, and so does the run. Gives why.
 */
export async function compareHours(deps: ReconcilerDeps, given: Given): Promise<unknown[]> {
  const plan = await planHours(deps, given)
  const { active, signal, until_ms } = plan
  const failures: unknown[] = []
  const comparisons = [
    ...active.map((one) => ({ app_id: one.app.app_id, work: () => compareApp(deps, plan, one) })),
    { app_id: '', work: () => compareCommon(deps, plan) },
  ]
  for (const { app_id, work } of comparisons) {
    try {
      await work()
    } catch (error) {
      signal.throwIfAborted()
      deps.logger.error({ err: error, app_id }, 'not compared')
      failures.push(error)
    }
  }
  if (failures.length === 0)
    await recordHours(deps.pool, '', new Map([[until_ms - hour_ms, { objects: 0, events: 0 }]]))
  return failures
}

async function planHours(deps: ReconcilerDeps, given: Given): Promise<Plan> {
  const { until_ms, newest, signal } = given
  const { pause, paced } = createPace(deps.core_share, signal)
  const stores = openStores({ ...deps, clickhouse: paced(deps.clickhouse) }, pause, signal)
  await untilAllWritten(deps.broker, signal)
  const begin_ms = newest === null ? until_ms - limits.reconcile_since_ms : newest + hour_ms
  const from_ms = Math.max(begin_ms, until_ms - caught_up_ms_max)
  const known = await readReconciledHours(deps.pool, until_ms - hours_kept_ms)
  const events = await countReceived(stores, utcDay(until_ms - hours_kept_ms))
  const fallen = [...known].flatMap(([app_id, hours]) => [...fallenDays(hours, events.get(app_id) ?? new Map())])
  // Objects of a gateway whose clock is a day behind come under hours that are done.
  const recent = daysBetween(utcDay(from_ms - day_ms), utcDay(until_ms + day_ms))
  const days = [...new Set([...fallen, ...recent])].toSorted()
  const apps = await listAppFacts(deps.pool)
  const turn = await findTurn(stores, until_ms)
  const table_days = [utcDay(until_ms - day_ms), utcDay(until_ms - 1), turn.old_day].filter((day) => day !== '')
  const active = await findActive(stores, { apps, days, table_days: [...new Set(table_days)] })
  const young_ms = deps.now() - limits.reconcile_young_ms
  return {
    ...given,
    stores,
    first_ms: newest === null ? from_ms : 0,
    young_ms,
    recent,
    days,
    apps,
    active,
    known,
    events,
    turn,
  }
}

/** Number of events of each app by UTC day of receipt, from a day on. */
async function countReceived({ clickhouse }: StoreDeps, first_day: string): Promise<Map<string, Map<string, number>>> {
  const rows = await clickhouse.query<{ app_id: string; on: string; events: number }>(
    `SELECT app_id, toString(received_day) AS on, sum(events) AS events FROM events_received_per_day_v1
     WHERE received_day >= {first_day:Date} GROUP BY app_id, received_day`,
    { first_day },
  )
  const byApp = Map.groupBy(rows, ({ app_id }) => app_id)
  return new Map([...byApp].map(([app_id, of]) => [app_id, new Map(of.map((row) => [row.on, Number(row.events)]))]))
}

async function compareApp(deps: ReconcilerDeps, plan: Plan, one: ActiveApp): Promise<void> {
  const { stores, names, first_ms, until_ms, turn, signal } = plan
  const { app_id } = one.app
  const events = plan.events.get(app_id) ?? new Map()
  const due = dueHours({ known: plan.known.get(app_id) ?? new Map(), events, first_ms, until_ms })
  const days = plan.days.filter((day) => plan.recent.includes(day) || due.isWhole(day))
  const fresh = names.begin()
  const scope: Scope = {
    since_ms: first_ms,
    until_ms: plan.young_ms,
    count: due.count,
    leave: fresh.leave,
    choose: (objects, day) => [
      ...due.choose(objects),
      ...(due.isWhole(day)
        ? objects.filter(({ received_at_ms }) => received_at_ms === null)
        : fresh.choose(objects, `${app_id}/${day}`)),
    ],
    isDue: due.isDue,
  }
  const of: ActiveApp = {
    ...one,
    received: one.received.filter((day) => days.includes(day)),
    table_days: turn.has(app_id) ? one.table_days : [],
    settled_days: one.table_days.filter((day) => day < utcDay(until_ms - 1)),
  }
  const look: Look = (suspects) => lookAtApp(stores, scope, of, suspects)
  await plan.keep(await lookTwice({ broker: deps.broker, sleep: sleepOf(deps) }, [look], signal))
  await recordHours(deps.pool, app_id, due.compared(days))
  fresh.keep()
}

async function compareCommon(deps: ReconcilerDeps, plan: Plan): Promise<void> {
  const { stores, names, recent: days, apps, first_ms: since_ms, young_ms: until_ms, signal } = plan
  const fresh = names.begin()
  const scope: Scope = {
    ...{ since_ms, until_ms, leave: fresh.leave },
    count: null,
    choose: (objects, day) => fresh.choose(objects, `/${day}`, 'timed ones too'),
    isDue: () => true,
  }
  const common = { days, apps, with_postbacks: true, now_ms: deps.now() }
  const look: Look = (suspects) => lookAtCommon(stores, scope, common, suspects)
  await plan.keep(await lookTwice({ broker: deps.broker, sleep: sleepOf(deps) }, [look], signal))
  fresh.keep()
}
