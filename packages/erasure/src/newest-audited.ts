import type { RewritableAuditStore } from '@tributary/audit-store/audit-store'
import { objectLines } from '@tributary/audit-store/object-lines'
import { utcDay } from '@tributary/domain/utc-day'
import { type AuditSource, eraseRequest, receiptOf } from './audit/erase-request.ts'
import { foldersFrom, forEachObject } from './audit/rewrite-audit.ts'
import { noCounts } from './audit/rewrite-counts.ts'
import { type ObjectToRewrite, readable } from './audit/rewrite-object.ts'

export interface NewestAuditedOptions {
  audit: Pick<RewritableAuditStore, 'list'>
  company_id: string
  app_id: string
  install_uuids: Iterable<string>
  /** A time of now, Unix epoch ms: what is received later was received by a clock that is ahead. */
  after_ms: number
  signal: AbortSignal
}

/**
 * The newest receipt, Unix epoch ms, of requests with events that an erasure with the mark `after_ms` would leave, by install.
 * It reads the objects of the day of `after_ms` and of later ones. An object that is unreadable is left out: the rewriting
 * that follows notes it.
 */
export async function findNewestAudited(options: NewestAuditedOptions): Promise<Map<string, number>> {
  const { audit, after_ms, signal } = options
  const installs = new Set(options.install_uuids)
  const newest = new Map<string, number>()
  const note = (request: Buffer, source: AuditSource) => {
    const received_at_ms = receiptOf(request, (id) => installs.has(id))
    // Nearly all requests end here: a mark covers what was received before it, whatever it holds.
    if (received_at_ms === null || received_at_ms <= after_ms) return
    for (const install of findLeft(request, source, { installs, after_ms }))
      newest.set(install, Math.max(Math.round(received_at_ms), newest.get(install) ?? 0))
  }
  const read = async ({ content, source }: ObjectToRewrite) => {
    if (source !== 'sdk') note(content, source)
    else for await (const line of objectLines(content)) note(line, source)
    return nobody
  }
  for await (const { folders } of foldersFrom(audit, options, utcDay(after_ms)))
    for (const folder of folders)
      await forEachObject({ audit, signal }, folder, noCounts(), (object) => readable(() => read(object)))
  return newest
}

const nobody: ReadonlySet<string> = new Set()

/** The installs of which an erasure with this mark leaves events in a request. */
function findLeft(
  request: Buffer,
  source: AuditSource,
  { installs, after_ms }: { installs: ReadonlySet<string>; after_ms: number },
): ReadonlySet<string> {
  const erase = (json: Buffer, mark_ms: number) =>
    eraseRequest(json, source, (id) => (installs.has(id) ? mark_ms : null))
  if (erase(request, Number.POSITIVE_INFINITY) === null) return nobody
  const covered = erase(request, after_ms)
  const rest = covered === null ? request : covered.rest
  return (rest && erase(rest, Number.POSITIVE_INFINITY)?.installs) ?? nobody
}
