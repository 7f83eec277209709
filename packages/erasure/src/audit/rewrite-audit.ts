import { dayFolders, daysBelow, serverDays } from '@tributary/audit-store/audit-days'
import type { AuditStore, Listed, RewritableAuditStore } from '@tributary/audit-store/audit-store'
import { readAhead } from '@tributary/audit-store/read-ahead'
import type { AuditSource, MarkOf } from './erase-request.ts'
import { addCounts, countObject, noCounts, type RewriteCounts } from './rewrite-counts.ts'
import { rewriteObject } from './rewrite-object.ts'

export interface ErasedInstall {
  install_uuid: string
  /** Unix epoch ms; see `isErased`. */
  mark_ms: number
}

export interface RewriteAuditOptions {
  audit: Pick<RewritableAuditStore, 'list' | 'get' | 'replace' | 'erase'>
  company_id: string
  app_id: string
  /** All of a night: the objects of an app are read once for all of them. */
  installs: readonly ErasedInstall[]
  /** The UTC day (`YYYY-MM-DD`) before which nothing of the installs was received; every day when absent. */
  first_day?: string
  now(): number
  signal: AbortSignal
  /** Called behind each day, in their order: a scan that was cut off may go on with the day after it. */
  onDay?(day: string, done: RewriteCounts): Promise<void>
}

/** Objects that are fetched at the same time: those of backends' single events are small, bulks have up to 8 MiB. */
const objects_ahead: Record<AuditSource, number> = { sdk: 8, s2s: 32, bulk: 4 }

/**
 * Takes the events of erased installs out of all audit objects of their app (docs/rules.md#rewritten-audit-objects). It lists
 * the folders of this app alone. May be repeated: what is done is read again and stays. Memory is bounded by single objects.
 * Rejects while the store is away, with the reason of `signal` when it is aborted.
 */
export async function rewriteAudit(options: RewriteAuditOptions): Promise<RewriteCounts> {
  const { audit, app_id, company_id, installs, first_day = '', onDay } = options
  const all = noCounts()
  if (installs.length === 0) return all
  const days = new Set([
    ...(await Array.fromAsync(daysBelow(audit, 'audit/', first_day))),
    ...(await serverDays(audit, first_day, app_id)),
  ])
  for (const day of [...days].sort()) {
    const done = noCounts()
    for (const folder of dayFolders(app_id, company_id, day)) await rewriteFolder(options, folder, done)
    addCounts(all, done)
    await onDay?.(day, done)
  }
  return all
}

async function rewriteFolder(
  { audit, app_id, installs, now, signal }: RewriteAuditOptions,
  { source, folder }: { source: AuditSource; folder: string },
  done: RewriteCounts,
): Promise<void> {
  const markOf = marksOf(installs)
  const since_ms = Math.min(...installs.map(({ mark_ms }) => mark_ms))
  const objects = readAhead(objectsIn(audit, folder), objects_ahead[source], async ({ key, read }) => ({
    key,
    content: await read(),
  }))
  for await (const { key, content } of objects) {
    signal.throwIfAborted()
    if (content === null) continue
    const object = { app_id, key, content, source }
    await countObject(done, () => rewriteObject({ audit, markOf, since_ms, now }, object))
  }
}

/** The marks of installs; of several requests of one the greatest counts. */
function marksOf(installs: readonly ErasedInstall[]): MarkOf {
  const marks = new Map<string, number>()
  for (const { install_uuid, mark_ms } of installs)
    marks.set(install_uuid, Math.max(mark_ms, marks.get(install_uuid) ?? 0))
  return (install_uuid) => marks.get(install_uuid) ?? null
}

type StoredObject = Extract<Listed, { kind: 'object' }>

async function* objectsIn(audit: Pick<AuditStore, 'list'>, folder: string): AsyncGenerator<StoredObject> {
  for await (const one of audit.list(folder)) if (one.kind === 'object') yield one
}
