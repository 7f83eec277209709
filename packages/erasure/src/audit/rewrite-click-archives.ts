import { objectsIn } from '@tributary/audit-store/audit-days'
import type { RewritableAuditStore, StoredObject } from '@tributary/audit-store/audit-store'
import { readAhead } from '@tributary/audit-store/read-ahead'
import { day_ms } from '@tributary/contracts/limits'
import { clickTime } from '@tributary/domain/attribute/click-token'
import { utcDay } from '@tributary/domain/utc-day'
import { archivesFrom } from '@tributary/tables/attribution/click-archive'
import { mayName, memberName } from './named-ids.ts'
import { countObject, folderOf, noCounts, type RewriteCounts } from './rewrite-counts.ts'
import { type EraseLine, rewriteLines } from './rewrite-lines.ts'
import { applyRewriting } from './rewrite-object.ts'
import { rewrittenDocument } from './rewritten-mark.ts'

export interface ErasedClick {
  app_id: string
  click_id: string
  /** The install that the click is erased with; it counts in `rewritten_of`. */
  install_uuid: string
}

export interface RewriteClickArchivesOptions {
  audit: Pick<RewritableAuditStore, 'list' | 'get' | 'replace' | 'erase'>
  /** All of a night, of all apps: an archive holds clicks of many. */
  clicks: readonly ErasedClick[]
  /** When the first tombstone of the clicks was written, Unix epoch ms. */
  since_ms: number
  now(): number
  signal: AbortSignal
}

/** Archives of a few MiB that are worked on at the same time. */
const archives_together = 4
const click_member = memberName('click_id')

/**
 * Takes erased clicks out of the archives of clicks, with the promises of `rewriteAudit`. No line of another click changes.
 * Archives from the day before the oldest click on are read: a log that is read again under a new identity, and replays of earlier
 * versions, archived clicks again, on their own day.
 */
export async function rewriteClickArchives(options: RewriteClickArchivesOptions): Promise<RewriteCounts> {
  const { audit, clicks, since_ms, now, signal } = options
  const counts = noCounts()
  if (clicks.length === 0) return counts
  const first_ms = clicks.reduce((first, { click_id }) => Math.min(first, clickTime(click_id)), now())
  const rule = { audit, eraseLine: createEraseLine(clicks), since_ms, now, signal }
  await rewriteArchives(rule, archivesFrom(audit, utcDay(first_ms - day_ms)), counts)
  return counts
}

export interface RewriteArchiveFolderOptions
  extends Pick<RewriteClickArchivesOptions, 'audit' | 'since_ms' | 'now' | 'signal'> {
  folder: string
  isErased(app_id: string, click_id: string): boolean
}

/** Rewrites the archives of one folder without the clicks that `isErased` names. */
export async function rewriteArchiveFolder(options: RewriteArchiveFolderOptions): Promise<RewriteCounts> {
  const { audit, folder, isErased } = options
  const counts = noCounts()
  const eraseLine: EraseLine = (line) => {
    const { app_id, click_id } = JSON.parse(line.toString('utf8')) as ErasedClick
    return isErased(app_id, click_id) ? { rest: null, installs: new Set([click_id]) } : null
  }
  await rewriteArchives({ ...options, eraseLine }, objectsIn(audit, folder), counts)
  return counts
}

async function rewriteArchives(
  { audit, eraseLine, since_ms, now, signal }: Omit<RewriteClickArchivesOptions, 'clicks'> & { eraseLine: EraseLine },
  stored: AsyncIterable<Pick<StoredObject, 'key' | 'read'>>,
  counts: RewriteCounts,
): Promise<void> {
  const renew = async (content: Buffer) => {
    const lines = await rewriteLines(content, eraseLine, now())
    return lines && { ...lines, rest: rewrittenDocument(Buffer.from('{"body":null}'), now()) }
  }
  const archives = readAhead(stored, archives_together, async ({ key, read }) => {
    signal.throwIfAborted()
    if (key === null) return
    await countObject(counts, folderOf(key), async () => {
      const content = await read()
      return content && applyRewriting({ audit, since_ms }, { keys: [key], content }, renew)
    })
  })
  for await (const _done of archives) signal.throwIfAborted()
}

function createEraseLine(clicks: readonly ErasedClick[]): EraseLine {
  const ids = new Set(clicks.map(({ click_id }) => click_id))
  const installs = new Map(clicks.map(({ app_id, click_id, install_uuid }) => [`${app_id}/${click_id}`, install_uuid]))
  return (line) => {
    if (!mayName(line, click_member, (id) => ids.has(id))) return null
    const { app_id, click_id } = JSON.parse(line.toString('utf8')) as Partial<ErasedClick>
    const install_uuid = installs.get(`${app_id}/${click_id}`)
    return install_uuid === undefined ? null : { rest: null, installs: new Set([install_uuid]) }
  }
}
