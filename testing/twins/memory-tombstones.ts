import type { LogEnd, Tombstones } from '@tributary/domain/erasure/tombstones'
import type { ErasedRecords } from '@tributary/erasure/erased-records'

/** Tombstones that are written by hand, and counted like those of PostgreSQL. */
export interface MemoryTombstones extends ErasedRecords {
  /** `<app_id>/<audit_key>` of the objects that were noted. */
  noted: Set<string>
  /** Gives back the number of the tombstone. */
  erase(app_id: string, install_uuid: string, mark_ms: number, log_end?: LogEnd | null): number
  eraseClick(app_id: string, click_id: string): number
  size(): number
  /** Apps whose salt nobody can read. */
  locked: Set<string>
  /** Both methods reject while it is true. */
  away: boolean
}

export function memoryTombstones(): MemoryTombstones {
  const rows: { app_id: string; name: string; mark_ms: number; log_end?: LogEnd | null }[] = []
  const requireHere = () => {
    if (store.away) throw new Error('the tombstones are away')
  }
  const store: MemoryTombstones = {
    away: false,
    locked: new Set(),
    noted: new Set(),
    size: () => rows.length,
    erase: (app_id, install_uuid, mark_ms, log_end = null) =>
      rows.push({ app_id, name: `install/${install_uuid}`, mark_ms, log_end }),
    eraseClick: (app_id, click_id) => rows.push({ app_id, name: `click/${click_id}`, mark_ms: 0 }),
    async noteObjects(app_id, audit_keys) {
      for (const key of audit_keys) store.noted.add(`${app_id}/${key}`)
    },
    async newest() {
      requireHere()
      return rows.length
    },
    async upTo(number): Promise<Tombstones> {
      requireHere()
      const known = rows.slice(0, number)
      const hasAny = (app_id: string) => known.some((row) => row.app_id === app_id)
      const isLocked = (app_id: string) => hasAny(app_id) && store.locked.has(app_id)
      const find = (app_id: string, name: string) => {
        if (isLocked(app_id)) throw new Error(`the salt of ${app_id} cannot be read`)
        return known.filter((row) => row.app_id === app_id && row.name === name)
      }
      return {
        ...{ number, hasAny, isLocked },
        markOf(app_id, install_uuid) {
          const marks = find(app_id, `install/${install_uuid}`).map(({ mark_ms }) => mark_ms)
          return marks.length === 0 ? null : Math.max(...marks)
        },
        logEndOf: (app_id, install_uuid) =>
          find(app_id, `install/${install_uuid}`).findLast(({ log_end }) => log_end)?.log_end ?? null,
        isErasedClick: (app_id, click_id) => find(app_id, `click/${click_id}`).length > 0,
      }
    },
  }
  return store
}
