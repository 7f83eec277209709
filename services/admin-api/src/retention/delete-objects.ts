import { archiveFolder, click_archive_folder } from '@tributary/attribution/click-archive'
import { dayFolders, daysBelow, requestDays, sdkDays } from '@tributary/audit-store/audit-days'
import type { AuditStore } from '@tributary/audit-store/audit-store'
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

async function deleteBelow(audit: DeleteObjects['audit'], folder: string, signal: AbortSignal): Promise<number> {
  let deleted = 0
  for await (const one of audit.list(folder)) {
    signal.throwIfAborted()
    if (one.kind === 'folder') deleted += await deleteBelow(audit, one.folder, signal)
    else {
      await one.remove()
      deleted += 1
    }
  }
  return deleted
}
