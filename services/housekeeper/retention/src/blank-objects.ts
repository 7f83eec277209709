import { type AppDay, dayFolders, objectsIn, requestDays, sdkDays } from '@tributary/audit-store/audit-days'
import type { RewritableAuditStore, StoredObject } from '@tributary/audit-store/audit-store'
import { readAhead } from '@tributary/audit-store/read-ahead'
import { day_ms } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { blankObject, type ObjectToBlank } from '@tributary/erasure/audit/blank-object'
import { UnreadableObjectError } from '@tributary/erasure/audit/rewrite-object'
import { archivesFrom } from '@tributary/tables/attribution/click-archive'
import type { Logger } from 'pino'

export interface BlankObjects {
  audit: Pick<RewritableAuditStore, 'list' | 'get' | 'replace' | 'erase'>
  now(): number
  signal: AbortSignal
  logger: Logger
}

/** Days of an app, `YYYY-MM-DD`: from the first that is not blanked yet up to the first that is kept, which is not blanked. */
export interface DaysToBlank {
  app_id: string
  company_id: string
  from: string
  to: string
}

/** Objects that are fetched and written at the same time; a bulk has up to 8 MiB. */
const objects_ahead = 8

/** An app's day that is blanked once more. */
export type DayToBlank = Pick<DaysToBlank, 'app_id' | 'company_id'> & { day: string }

/**
 * The late days that are to be blanked once more, and all that this run completes. A day behind the mark of its company waits until it
 * is due; the runs that move the mark come to any other. An app that is gone has no rule any more.
 */
export function splitLate(noted: readonly AppDay[], apps: readonly DaysToBlank[]) {
  const known = new Map(apps.map((app) => [app.app_id, app]))
  const late: DayToBlank[] = []
  const done: AppDay[] = []
  for (const one of noted) {
    const app = known.get(one.app_id)
    if (app !== undefined && one.day < app.from && one.day >= app.to) continue
    done.push(one)
    if (app !== undefined && one.day < app.from) late.push({ ...one, company_id: app.company_id })
  }
  return { late, done }
}

/**
 * Blanks addresses and agents in the audit objects of days: those of requests by app, archives of clicks by the app of each
 * click. Gives back how many objects were rewritten. May be repeated. An object that can't be read stays, and is logged.
 */
export async function blankObjects(
  deps: BlankObjects,
  apps: readonly DaysToBlank[],
  late: readonly DayToBlank[],
): Promise<number> {
  const open = apps.filter(({ from, to }) => from < to)
  let done = 0
  for (const one of late) done += await blankDay(deps, one)
  for await (const one of daysToBlank(deps, open)) done += await blankDay(deps, one)
  const late_spans = late.map((one) => ({ ...one, from: one.day, to: dayAfter(one.day) }))
  return done + (await blankArchives(deps, [...open, ...late_spans]))
}

async function* daysToBlank({ audit }: BlankObjects, open: readonly DaysToBlank[]): AsyncGenerator<DayToBlank> {
  if (open.length === 0) return
  const sdk_days = await sdkDays(audit, firstOf(open))
  for (const { app_id, company_id, from, to } of open) {
    const days = await requestDays(audit, sdk_days, app_id, from)
    for (const day of days.filter((one) => one < to)) yield { app_id, company_id, day }
  }
}

const firstOf = (apps: readonly DaysToBlank[]): string => apps.map(({ from }) => from).toSorted()[0] ?? ''
const dayAfter = (day: string): string => utcDay(Date.parse(day) + day_ms)

async function blankDay(deps: BlankObjects, { app_id, company_id, day }: DayToBlank): Promise<number> {
  let done = 0
  for (const { source, folder } of dayFolders(app_id, company_id, day))
    done += await blankAll(deps, objectsIn(deps.audit, folder), () => ({ app_id, source }))
  return done
}

async function blankArchives(deps: BlankObjects, spans: readonly DaysToBlank[]): Promise<number> {
  if (spans.length === 0) return 0
  const spansOf = Map.groupBy(spans, ({ app_id }) => app_id)
  const holds = (day: string) => (span: DaysToBlank) => day >= span.from && day < span.to
  const archives = archivesFrom(deps.audit, firstOf(spans), (day) => spans.some(holds(day)))
  return blankAll(deps, archives, ({ day }) => {
    const isBlanked = (app_id: string) => spansOf.get(app_id)?.some(holds(day)) ?? false
    return { app_id: '', source: 'clicks', isBlanked }
  })
}

async function blankAll<Stored extends Pick<StoredObject, 'key' | 'read'>>(
  { audit, now, signal, logger }: BlankObjects,
  objects: AsyncIterable<Stored>,
  formOf: (one: Stored) => Omit<ObjectToBlank, 'key' | 'content'>,
): Promise<number> {
  let done = 0
  const read = readAhead(objects, objects_ahead, async (one) => {
    signal.throwIfAborted()
    const content = await one.read()
    if (content === null) return false
    return blankObject(audit, { ...formOf(one), key: one.key, content }, now).catch((err: unknown) => {
      if (!(err instanceof UnreadableObjectError)) throw err
      logger.warn({ err, key: one.key }, 'an audit object of unknown form keeps what it holds')
      return false
    })
  })
  for await (const changed of read) done += Number(changed)
  return done
}
