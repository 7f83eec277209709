import { postback_audit_folder } from '@tributary/contracts/postback/received'
import { notification_audit_folder } from '@tributary/contracts/receipt/store-notified'
import type { AuditStore, StoredObject } from '../audit-store.ts'

type Lists = Pick<AuditStore, 'list'>

/** The days (`YYYY-MM-DD`) from `first_day` on which the audit store has requests, by app. */
export async function sdkDays(audit: Lists, first_day: string, app_id?: string): Promise<Map<string, string[]>> {
  const days = new Map<string, string[]>()
  for await (const day of daysBelow(audit, 'audit/', first_day)) {
    for (const app of await appsOf(audit, day)) {
      if (app_id !== undefined && app !== app_id) continue
      const known = days.get(app)
      if (known === undefined) days.set(app, [day])
      else known.push(day)
    }
  }
  return days
}

/** The days (`YYYY-MM-DD`) from `first_day` on that have a folder `<root><yyyy>/<mm>/<dd>/`, in no order. */
export async function* daysBelow(audit: Lists, root: string, first_day: string): AsyncGenerator<string> {
  for await (const year of folders(audit, root)) {
    if (year < first_day.slice(0, 4)) continue
    for await (const month of folders(audit, `${root}${year}/`)) {
      if (`${year}-${month}` < first_day.slice(0, 7)) continue
      for await (const date of folders(audit, `${root}${year}/${month}/`)) {
        const day = `${year}-${month}-${date}`
        if (dayShape.test(day) && day >= first_day) yield day
      }
    }
  }
}

async function appsOf(audit: Lists, day: string): Promise<string[]> {
  const root = sdkRoot(day)
  const apps: string[] = []
  for await (const company of folders(audit, root))
    apps.push(...(await Array.fromAsync(folders(audit, `${root}${company}/`))))
  return apps
}

const sdkRoot = (day: string): string => `audit/${day.replaceAll('-', '/')}/`

/** The days from `first_day` on which an app's backends sent something. */
export async function serverDays(audit: Lists, first_day: string, app_id: string): Promise<string[]> {
  const [singles, bulks] = await Promise.all(
    [`${app_id}/s2s/`, `${app_id}/s2s/bulk/`].map((folder) => Array.fromAsync(folders(audit, folder))),
  )
  return [...new Set([...singles!, ...bulks!])].filter((day) => dayShape.test(day) && day >= first_day)
}

const dayShape = /^\d{4}-\d\d-\d\d$/

/** The days from `first_day` on which an app or its backends sent something, in order. `sdk_days` are those of `sdkDays`. */
export async function requestDays(
  audit: Lists,
  sdk_days: ReadonlyMap<string, readonly string[]>,
  app_id: string,
  first_day: string,
): Promise<string[]> {
  const days = new Set([...(sdk_days.get(app_id) ?? []), ...(await serverDays(audit, first_day, app_id))])
  return [...days].filter((day) => day >= first_day).sort()
}

/** Where the requests of a day lie, and how they came. */
export const dayFolders = (app_id: string, company_id: string, day: string) =>
  [
    { source: 'sdk', folder: `${sdkRoot(day)}${company_id}/${app_id}/` },
    { source: 's2s', folder: `${app_id}/s2s/${day}/` },
    { source: 'bulk', folder: `${app_id}/s2s/bulk/${day}/` },
  ] as const

/** An app, and the UTC day (`YYYY-MM-DD`) of an object of its requests. */
export interface AppDay {
  app_id: string
  day: string
}

const requestKey = /^audit\/(\d{4})\/(\d\d)\/(\d\d)\/[^/]+\/([^/]+)\/|^([^/]+)\/s2s\/(?:bulk\/)?(\d{4}-\d\d-\d\d)\//

/** Where an object of `dayFolders` lies; null for any other key. */
export function appDayOf(key: string): AppDay | null {
  const found = requestKey.exec(key)
  if (found === null) return null
  const [, year, month, date, ofSdk, ofServer, day] = found
  return ofSdk === undefined ? { app_id: ofServer!, day: day! } : { app_id: ofSdk, day: `${year}-${month}-${date}` }
}

/**
 * Folders at the root that are no app's: requests of SDKs, archives of clicks (docs/rules.md#archives-of-clicks), what `tributary doctor`
 * tries, postbacks, and notifications of stores.
 */
const commonFolders = [
  'audit',
  'clicks',
  'doctor',
  ...[postback_audit_folder, notification_audit_folder].map((one) => one.slice(0, -1)),
]

/** Whether there is any request of an app or its backends. */
export async function hasRequests(audit: Lists): Promise<boolean> {
  for await (const name of folders(audit, '')) if (name === 'audit' || !commonFolders.includes(name)) return true
  return false
}

/** Apps that have folders of their own. */
export async function serverApps(audit: Lists): Promise<string[]> {
  const names = await Array.fromAsync(folders(audit, ''))
  return names.filter((name) => !commonFolders.includes(name))
}

/** The names of the folders directly below one. */
async function* folders(audit: Lists, folder: string): AsyncGenerator<string> {
  for await (const one of audit.list(folder)) {
    if (one.kind === 'folder') yield one.folder.slice(folder.length, -1)
  }
}

/** The objects directly in a folder. */
export async function* objectsIn(audit: Lists, folder: string): AsyncGenerator<StoredObject> {
  for await (const one of audit.list(folder)) if (one.kind === 'object') yield one
}
