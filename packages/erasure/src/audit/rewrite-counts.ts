import { UnreadableObjectError } from './rewrite-object.ts'

/** Numbers of a rewriting. */
export interface RewriteCounts {
  objects_read: number
  objects_rewritten: number
  /** Objects that are foreign, broken or refused by the store. They are left as they were. */
  objects_unreadable: number
  /** The same by folder. */
  unreadable_in: Map<string, number>
  /** Objects that held something of an install, by `install_uuid`; absent without any. */
  rewritten_of: Map<string, number>
}

export const noCounts = (): RewriteCounts => ({
  ...{
    objects_read: 0,
    objects_rewritten: 0,
    objects_unreadable: 0,
    unreadable_in: new Map(),
    rewritten_of: new Map(),
  },
})

/** Adds `more` to `counts`. */
export function addCounts(counts: RewriteCounts, more: RewriteCounts): void {
  counts.objects_read += more.objects_read
  counts.objects_rewritten += more.objects_rewritten
  counts.objects_unreadable += more.objects_unreadable
  for (const [folder, objects] of more.unreadable_in) add(counts.unreadable_in, folder, objects)
  for (const [install, objects] of more.rewritten_of) add(counts.rewritten_of, install, objects)
}

/**
 * Counts one object of a folder by what its rewriting gives: the installs that had something in it; null when it is gone. One
 * that cannot be read or rewritten is counted, and stops no other. Rejects while the whole store is away.
 */
export async function countObject(
  counts: RewriteCounts,
  folder: string,
  rewrite: () => Promise<ReadonlySet<string> | null>,
): Promise<void> {
  try {
    const installs = await rewrite()
    if (installs === null) return
    counts.objects_read += 1
    if (installs.size > 0) counts.objects_rewritten += 1
    for (const install of installs) add(counts.rewritten_of, install, 1)
  } catch (error) {
    if (!(error instanceof UnreadableObjectError)) requireOfOne(error)
    counts.objects_read += 1
    countUnreadable(counts, folder)
  }
}

/** The same for the list of a folder: one that the store does not give counts as an object, and the others go on. */
export async function countFolder(counts: RewriteCounts, folder: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    requireOfOne(error)
    countUnreadable(counts, folder)
  }
}

function countUnreadable(counts: RewriteCounts, folder: string): void {
  counts.objects_unreadable += 1
  add(counts.unreadable_in, folder, 1)
}

/** Error codes of a file system or S3 that concern a single object: it is broken, locked or in cold storage. */
const objectFaults: ReadonlySet<unknown> = new Set([
  ...['EACCES', 'EPERM', 'EIO', 'EISDIR', 'EUCLEAN', 'EBADMSG'],
  ...['AccessDenied', 'InvalidObjectState', 'ObjectLocked'],
])

/** Error codes of S3 that concern more than one object, whatever their HTTP status. */
const storeFaults: ReadonlySet<string> = new Set([
  ...['NoSuchBucket', 'InvalidAccessKeyId', 'SignatureDoesNotMatch', 'RequestTimeTooSkewed', 'AllAccessDisabled'],
  ...['AccountProblem', 'ExpiredToken', 'InvalidToken', 'TokenRefreshRequired', 'RequestTimeout', 'SlowDown'],
])

/** Whether S3 refused a single object. It answers 429 or 503 when it is overloaded; a 500 comes after all tries of the client. */
function isRefusalOfOne(error: Error): boolean {
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number } }
  const status = $metadata?.httpStatusCode ?? 0
  return status >= 400 && status <= 500 && status !== 429 && !storeFaults.has(error.name)
}

/** The client of S3 says this, without a name or code, when bytes do not match the stored checksum. */
const otherBytes = /^Checksum mismatch/

/** Throws an error that concerns more than one object. */
function requireOfOne(error: unknown): void {
  if (!(error instanceof Error)) throw error
  const names = [error.name, (error as NodeJS.ErrnoException).code]
  const isOfOne =
    names.some((name) => objectFaults.has(name)) || otherBytes.test(error.message) || isRefusalOfOne(error)
  if (!isOfOne) throw error
}

/** The folder of an object, with a slash at its end. */
export const folderOf = (key: string): string => key.slice(0, key.lastIndexOf('/') + 1)

const add = (map: Map<string, number>, key: string, n: number) => map.set(key, (map.get(key) ?? 0) + n)
