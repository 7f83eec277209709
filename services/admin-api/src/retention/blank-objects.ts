import { archivesFrom, click_archive_folder } from '@tributary/attribution/click-archive'
import { dayFolders, sdkDays, serverDays } from '@tributary/audit-store/audit-days'
import type { RewritableAuditStore } from '@tributary/audit-store/audit-store'
import { readAhead } from '@tributary/audit-store/read-ahead'
import { blankObject, type ObjectToBlank } from '@tributary/erasure/audit/blank-object'
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
  const requestDays = await sdkDays(deps.audit, first_day)
  let done = 0
  for (const { app_id, company_id, from, to } of open) {
    const days = new Set([...(requestDays.get(app_id) ?? []), ...(await serverDays(deps.audit, from, app_id))])
    for (const day of [...days].filter((one) => one >= from && one < to))
      for (const { source, folder } of dayFolders(app_id, company_id, day))
        done += await blankAll(deps, objectsIn(deps, folder), () => ({ app_id, source }))
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
    for await (const one of archivesFrom(deps.audit, first_day)) if (dayOf(one.key) < last_day) yield one
  }
  return blankAll(deps, archives(), (key) => {
    const day = dayOf(key)
    const isBlanked = (app_id: string) => {
      const { from = '9', to = '' } = daysOf.get(app_id) ?? {}
      return day >= from && day < to
    }
    return { app_id: '', source: 'clicks', isBlanked }
  })
}

const dayOf = (key: string | null): string =>
  (key ?? '').slice(click_archive_folder.length, click_archive_folder.length + 10).replaceAll('/', '-')

interface Stored {
  key: string | null
  read(): Promise<Buffer | null>
}

async function blankAll(
  { audit, now, signal, logger }: BlankObjects,
  objects: AsyncIterable<Stored>,
  formOf: (key: string | null) => Omit<ObjectToBlank, 'key' | 'content'>,
): Promise<number> {
  let done = 0
  const read = readAhead(objects, objects_ahead, async (one) => {
    signal.throwIfAborted()
    const content = await one.read()
    if (content === null) return false
    return blankObject(audit, { ...formOf(one.key), key: one.key, content }, now).catch((err: unknown) => {
      if (!(err instanceof Error && err.name === 'UnreadableObjectError')) throw err
      logger.warn({ err, key: one.key }, 'an audit object of unknown form keeps what it holds')
      return false
    })
  })
  for await (const changed of read) done += Number(changed)
  return done
}

async function* objectsIn({ audit }: BlankObjects, folder: string): AsyncGenerator<Stored> {
  for await (const one of audit.list(folder)) if (one.kind === 'object') yield one
}
