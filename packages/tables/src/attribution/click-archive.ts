import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { daysBelow } from '@tributary/audit-store/audit-days'
import type { AuditStore, StoredObject } from '@tributary/audit-store/audit-store'
import { KeptClick } from '@tributary/contracts/attribution/decision'
import { limits } from '@tributary/contracts/limits'
import { createPauses } from '@tributary/service-kit/service/pauses'

/** Folder of all archives in the audit store. */
export const click_archive_folder = 'clicks/'

/** The clicks of one UTC day in a batch. The same batch has the same clicks on every try. */
export interface ClickBatch {
  /** `<topic>@<log>`, as in positions. */
  source: string
  partition: number
  /** Offsets, both inclusive. */
  from: number
  to: number
  /** The UTC day on which the log took them, `YYYY-MM-DD`. */
  day: string
}

/**
 * Makes clicks of a batch durable as one object (docs/rules.md#archives-of-clicks). It is named by the range of the batch:
 * one that comes again finds it there.
 */
export async function archiveClicks(
  audit: Pick<AuditStore, 'putOnce'>,
  batch: ClickBatch,
  clicks: readonly KeptClick[],
): Promise<void> {
  const lines = clicks.map((click) => `${JSON.stringify(click)}\n`).join('')
  await audit.putOnce(archiveKey(batch), await promisify(gzip)(lines))
}

/** `clicks/<yyyy>/<mm>/<dd>/<log>/<partition>/<from>-<to>.jsonl.gz`. */
function archiveKey({ source, partition, from, to, day }: ClickBatch): string {
  const log = source.slice(source.indexOf('@') + 1)
  return `${archiveFolder(day)}${log}/${partition}/${from}-${to}.jsonl.gz`
}

/** Folder of the archives of a UTC day (`YYYY-MM-DD`). */
export const archiveFolder = (day: string): string => `${click_archive_folder}${day.replaceAll('-', '/')}/`

/** An archive, and its clicks; null where it can't be read. */
export interface ReadArchive {
  key: string
  clicks: KeptClick[] | null
}

/** The archives of clicks from a UTC day (`YYYY-MM-DD`) on, a day after the other, those of a day in no order. */
export async function* readClickArchives(audit: Pick<AuditStore, 'list'>, first_day = ''): AsyncGenerator<ReadArchive> {
  for await (const stored of archivesFrom(audit, first_day)) yield await readArchive(stored)
}

/** Reads an archive. */
export async function readArchive({ key, read }: Pick<StoredObject, 'key' | 'read'>): Promise<ReadArchive> {
  const content = await read()
  return { key: key ?? '', clicks: content === null ? null : await clicksOf(content).catch(() => null) }
}

/** An archive as it is stored, and its UTC day. */
export type StoredArchive = Pick<StoredObject, 'key' | 'read'> & { day: string }

/** The same archives, unread; of some of these days where `isIn` says which. */
export async function* archivesFrom(
  audit: Pick<AuditStore, 'list'>,
  first_day: string,
  isIn: (day: string) => boolean = () => true,
): AsyncGenerator<StoredArchive> {
  const days = await Array.fromAsync(daysBelow(audit, click_archive_folder, first_day))
  for (const day of days.filter(isIn).toSorted())
    for await (const { key, read } of objectsBelow(audit, archiveFolder(day))) yield { key, read, day }
}

/** The clicks of an archive. Rejects where it is none of ours. */
async function clicksOf(content: Buffer): Promise<KeptClick[]> {
  const text = await promisify(gunzip)(content, { maxOutputLength: limits.click_archive_bytes_max })
  const lines = text.toString().split('\n').slice(0, -1)
  const clicks: KeptClick[] = []
  const pause = createPauses()
  for (const line of lines) {
    await pause()
    clicks.push(KeptClick.parse(JSON.parse(line)))
  }
  return clicks
}

async function* objectsBelow(audit: Pick<AuditStore, 'list'>, folder: string): AsyncGenerator<StoredObject> {
  for await (const one of audit.list(folder)) {
    if (one.kind === 'folder') yield* objectsBelow(audit, one.folder)
    else if (one.kind === 'object') yield one
  }
}
