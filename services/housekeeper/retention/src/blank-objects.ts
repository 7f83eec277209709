import { dayFolders, objectsIn, requestDays, sdkDays } from '@tributary/audit-store/audit-days'
import type { RewritableAuditStore, StoredObject } from '@tributary/audit-store/audit-store'
import { readAhead } from '@tributary/audit-store/read-ahead'
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

/**
 * Blanks addresses and agents in the audit objects of days: those of requests by app, archives of clicks by the app of each
 * click. Gives back how many objects were rewritten. May be repeated. An object that can't be read stays, and is logged.
 */
export async function blankObjects(deps: BlankObjects, apps: readonly DaysToBlank[]): Promise<number> {
  const open = apps.filter(({ from, to }) => from < to)
  if (open.length === 0) return 0
  const first_day = open.map(({ from }) => from).toSorted()[0]!
  const sdk_days = await sdkDays(deps.audit, first_day)
  let done = 0
  for (const { app_id, company_id, from, to } of open) {
    const days = await requestDays(deps.audit, sdk_days, app_id, from)
    for (const day of days.filter((one) => one < to))
      for (const { source, folder } of dayFolders(app_id, company_id, day))
        done += await blankAll(deps, objectsIn(deps.audit, folder), () => ({ app_id, source }))
  }
  return done + (await blankArchives(deps, open, first_day))
}

async function blankArchives(deps: BlankObjects, apps: readonly DaysToBlank[], first_day: string): Promise<number> {
  const daysOf = new Map(apps.map((app) => [app.app_id, app]))
  const last_day = apps
    .map(({ to }) => to)
    .toSorted()
    .at(-1)!
  async function* archives() {
    for await (const one of archivesFrom(deps.audit, first_day)) if (one.day < last_day) yield one
  }
  return blankAll(deps, archives(), ({ day }) => {
    const isBlanked = (app_id: string) => {
      const { from = '9', to = '' } = daysOf.get(app_id) ?? {}
      return day >= from && day < to
    }
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
