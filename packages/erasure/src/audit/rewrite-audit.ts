import { dayFolders, daysBelow, objectsIn, serverDays } from '@tributary/audit-store/audit-days'
import type { RewritableAuditStore } from '@tributary/audit-store/audit-store'
import { readAhead } from '@tributary/audit-store/read-ahead'
import type { AuditSource, MarkOf } from './erase-request.ts'
import { addCounts, countFolder, countObject, noCounts, type RewriteCounts } from './rewrite-counts.ts'
import { type ObjectToRewrite, rewriteObject } from './rewrite-object.ts'

/** An install to erase. */
export interface ErasedInstall {
  install_uuid: string
  /** Events received up to then are erased, Unix epoch ms; see `isErased`. */
  mark_ms: number
}

export interface RewriteAuditOptions {
  audit: Pick<RewritableAuditStore, 'list' | 'get' | 'replace' | 'erase'>
  company_id: string
  app_id: string
  /** When the erasures may have begun, Unix epoch ms: their marks may lie ahead of it. */
  since_ms?: number
  /** All of a night: the objects of an app are read once for all of them. */
  installs: readonly ErasedInstall[]
  /** The UTC day (`YYYY-MM-DD`) before which nothing of the installs was received; every day when absent. */
  first_day?: string
  now(): number
  signal: AbortSignal
  /** Called after each day, in order: a scan that was cut off may go on with the next day. */
  onDay?(day: string, done: RewriteCounts): Promise<void>
}

/**
 * Objects that are worked on at the same time, which bounds memory: those of backends' single events are small, and share the
 * wait for the disk; the others have a few MiB, and lines of up to 8.
 */
const objects_together: Record<AuditSource, number> = { sdk: 4, s2s: 32, bulk: 4 }

/**
 * Takes the events of erased installs out of all audit objects of their app (docs/rules.md#rewritten-audit-objects). It lists
 * the folders of this app alone. May be repeated: what is done is read again and stays. Memory is bounded by single objects.
 * Rejects while the store is away, with the reason of `signal` when it is aborted.
 */
export async function rewriteAudit(options: RewriteAuditOptions): Promise<RewriteCounts> {
  const { audit, company_id, app_id, installs, first_day = '', onDay } = options
  const all = noCounts()
  if (installs.length === 0) return all
  const since_ms = installs.reduce((first, { mark_ms }) => Math.min(first, mark_ms), options.since_ms ?? Infinity)
  const rule = { ...options, markOf: marksOf(installs), since_ms }
  for await (const { day, folders } of foldersFrom(audit, { company_id, app_id }, first_day)) {
    const done = noCounts()
    for (const folder of folders) await rewriteFolder(rule, folder, done)
    addCounts(all, done)
    await onDay?.(day, done)
  }
  return all
}

/** The folders of an app's requests from a UTC day (`YYYY-MM-DD`) on, a day after the other. */
export async function* foldersFrom(
  audit: Pick<RewritableAuditStore, 'list'>,
  { company_id, app_id }: { company_id: string; app_id: string },
  first_day: string,
): AsyncGenerator<{ day: string; folders: AuditFolder[] }> {
  const sdk_days = new Set(await Array.fromAsync(daysBelow(audit, 'audit/', first_day)))
  const server_days = new Set(await serverDays(audit, first_day, app_id))
  for (const day of [...sdk_days.union(server_days)].sort()) {
    const has_any = ({ source }: { source: AuditSource }) => (source === 'sdk' ? sdk_days : server_days).has(day)
    const folders = dayFolders(app_id, company_id, day).filter(has_any)
    yield { day, folders: folders.map((one) => ({ app_id, ...one })) }
  }
}

/** An app's objects of one day and form. */
export interface AuditFolder {
  app_id: string
  source: AuditSource
  folder: string
}

export interface RewriteFolderOptions extends Pick<RewriteAuditOptions, 'audit' | 'now' | 'signal'> {
  markOf: MarkOf
  /** Objects that were rewritten from then on, Unix epoch ms, are checked for the remains of a crash. */
  since_ms: number
}

/** Rewrites the objects of one folder without what `markOf` says is erased. Adds its numbers to `done`. */
export const rewriteFolder = (
  { audit, markOf, since_ms, now, signal }: RewriteFolderOptions,
  { app_id, source, folder }: AuditFolder,
  done: RewriteCounts,
): Promise<void> =>
  forEachObject({ audit, signal }, { app_id, source, folder }, done, (object) =>
    rewriteObject({ audit, markOf, since_ms, now }, object),
  )

/** Does `work` on each object of one folder, and adds to `done` what it gives. One that is unreadable is counted, and stops no other. */
export async function forEachObject(
  { audit, signal }: Pick<RewriteAuditOptions, 'signal'> & { audit: Pick<RewritableAuditStore, 'list'> },
  { app_id, source, folder }: AuditFolder,
  done: RewriteCounts,
  work: (object: ObjectToRewrite) => Promise<ReadonlySet<string>>,
): Promise<void> {
  const objects = readAhead(objectsIn(audit, folder), objects_together[source], async ({ key, read }) => {
    signal.throwIfAborted()
    await countObject(done, folder, async () => {
      const content = await read()
      return content && work({ app_id, key, content, source })
    })
  })
  await countFolder(done, folder, async () => {
    for await (const _done of objects) signal.throwIfAborted()
  })
}

/** The greatest mark of each install. */
function marksOf(installs: readonly ErasedInstall[]): MarkOf {
  const marks = new Map<string, number>()
  for (const { install_uuid, mark_ms } of installs)
    marks.set(install_uuid, Math.max(mark_ms, marks.get(install_uuid) ?? 0))
  return (install_uuid) => marks.get(install_uuid) ?? null
}
