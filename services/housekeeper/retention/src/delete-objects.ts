import { dayFolders, daysBelow, requestDays, sdkDays } from '@tributary/audit-store/audit-days'
import type { AuditStore } from '@tributary/audit-store/audit-store'
import { readAhead } from '@tributary/audit-store/read-ahead'
import { postback_audit_folder, postbackProtocols } from '@tributary/contracts/postback/received'
import { notification_audit_folder } from '@tributary/contracts/receipt/store-notified'
import { archiveFolder, click_archive_folder } from '@tributary/tables/attribution/click-archive'
import type { KeptApp } from './kept-days.ts'

export interface DeleteObjects {
  audit: Pick<AuditStore, 'list'>
  signal: AbortSignal
}

/**
 * Deletes the audit objects of requests that an app sent before its first kept day; gives back how many. Requests for erasure
 * stay: they are the proof. A crash leaves fewer to delete.
 */
export async function deleteRequests({ audit, signal }: DeleteObjects, apps: ReadonlyMap<KeptApp, string>) {
  if (apps.size === 0) return 0
  let deleted = 0
  const sdk_days = await sdkDays(audit, '')
  for (const [{ app_id, company_id }, first_kept] of apps) {
    const days = await requestDays(audit, sdk_days, app_id, '')
    for (const day of days.filter((one) => one < first_kept))
      for (const { folder } of dayFolders(app_id, company_id, day)) deleted += await deleteBelow(audit, folder, signal)
  }
  return deleted
}

/** Deletes the archives of clicks of days before one; an archive holds clicks of all companies. */
export async function deleteArchives({ audit, signal }: DeleteObjects, first_kept: string): Promise<number> {
  let deleted = 0
  const days = await Array.fromAsync(daysBelow(audit, click_archive_folder, ''))
  for (const day of days.filter((one) => one < first_kept))
    deleted += await deleteBelow(audit, archiveFolder(day), signal)
  return deleted
}

/** Deletes the audit objects of postbacks of days before one, proven ones too: a group of postbacks shares an object. */
export async function deletePostbacks({ audit, signal }: DeleteObjects, first_kept: string): Promise<number> {
  let deleted = 0
  for (const protocol of postbackProtocols)
    deleted += await deleteDaysBelow({ audit, signal }, `${postback_audit_folder}${protocol}/`, first_kept)
  return deleted
}

/** Deletes the audit objects of notifications of stores of days before one. */
export const deleteNotifications = (deps: DeleteObjects, first_kept: string): Promise<number> =>
  deleteDaysBelow(deps, notification_audit_folder, first_kept)

async function deleteDaysBelow({ audit, signal }: DeleteObjects, root: string, first_kept: string): Promise<number> {
  let deleted = 0
  const days = await Array.fromAsync(daysBelow(audit, root, ''))
  for (const day of days.filter((one) => one < first_kept))
    deleted += await deleteBelow(audit, `${root}${day.replaceAll('-', '/')}/`, signal)
  return deleted
}

/** Objects that are removed at the same time: strangers make a hundred thousand of them a day. */
const removed_at_once = 16

async function deleteBelow(audit: DeleteObjects['audit'], folder: string, signal: AbortSignal): Promise<number> {
  let deleted = 0
  const removed = readAhead(audit.list(folder), removed_at_once, async (one) => {
    signal.throwIfAborted()
    if (one.kind === 'folder') return deleteBelow(audit, one.folder, signal)
    await one.remove()
    return 1
  })
  for await (const count of removed) deleted += count
  return deleted
}
