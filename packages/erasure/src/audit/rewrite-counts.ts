import { UnreadableObjectError } from './rewrite-object.ts'

/** Numbers of a rewriting. */
export interface RewriteCounts {
  objects_read: number
  objects_rewritten: number
  /** Objects that are none of ours, or broken: they are as they were. */
  objects_unreadable: number
  /** Objects that held something of an install, by `install_uuid`; absent without any. */
  rewritten_of: Map<string, number>
}

export const noCounts = (): RewriteCounts => ({
  ...{ objects_read: 0, objects_rewritten: 0, objects_unreadable: 0, rewritten_of: new Map() },
})

/** Adds `more` to `counts`. */
export function addCounts(counts: RewriteCounts, more: RewriteCounts): void {
  counts.objects_read += more.objects_read
  counts.objects_rewritten += more.objects_rewritten
  counts.objects_unreadable += more.objects_unreadable
  for (const [install, objects] of more.rewritten_of) add(counts.rewritten_of, install, objects)
}

/** Counts one object by what its rewriting gives: the installs that had something in it. */
export async function countObject(counts: RewriteCounts, rewrite: () => Promise<ReadonlySet<string>>): Promise<void> {
  counts.objects_read += 1
  try {
    const installs = await rewrite()
    if (installs.size > 0) counts.objects_rewritten += 1
    for (const install of installs) add(counts.rewritten_of, install, 1)
  } catch (error) {
    if (!(error instanceof UnreadableObjectError)) throw error
    counts.objects_unreadable += 1
  }
}

const add = (map: Map<string, number>, key: string, n: number) => map.set(key, (map.get(key) ?? 0) + n)
