import type { Stats } from 'node:fs'

/** Why others may know or have chosen what a file holds: it belongs to another user, or its mode lets others in. */
export type ForeignAccess = { kind: 'owner'; uid: number; ours: number } | { kind: 'mode'; mode: string }

/** Null for a file that this user alone may read and write, and where the system has no users. */
export function findForeignAccess({ uid, mode }: Pick<Stats, 'uid' | 'mode'>): ForeignAccess | null {
  const ours = process.getuid?.()
  if (ours === undefined) return null
  if (uid !== ours) return { kind: 'owner', uid, ours }
  return (mode & 0o077) === 0 ? null : { kind: 'mode', mode: (mode & 0o777).toString(8) }
}
