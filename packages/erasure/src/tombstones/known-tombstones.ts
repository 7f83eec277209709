import type { Pool } from 'pg'
import { createTombstoneTable, type Found } from './tombstone-table.ts'

/** Tombstones of one history of PostgreSQL in memory: all of them up to the number of the last `upTo`. */
export interface KnownTombstones {
  /** Whether an app has one up to a number. */
  hasAny(app_id: string, number: number): boolean
  /** What those of a hash up to a number say; null without any. */
  find(hash: Buffer, number: number): Found | null
  /**
   * Those up to a number: the same ones with what is new, or others where PostgreSQL was put back meanwhile. `onLoaded` gets
   * the app of each that is loaded, also when this rejects later. Throws `TombstonesLostError`.
   */
  upTo(pool: Pool, number: number, onLoaded: (app_id: string) => void): Promise<KnownTombstones>
}

/** Tombstones of one statement. */
const page_rows = 20_000

interface TombstoneRow {
  number: string
  app_id: string
  hash: Buffer
  mark_ms: string
  log: string | null
  log_end: string | null
}

/** PostgreSQL has no tombstone of the number that a batch was begun with, and no later one: it was put back. */
export class TombstonesLostError extends Error {
  override name = 'TombstonesLostError'
}

/** Nothing is known yet. */
export function knowTombstones(): KnownTombstones {
  const table = createTombstoneTable()
  const firstOf = new Map<string, number>()
  let newest = 0

  /** False when the newest one that is known is gone. */
  async function load(pool: Pool, number: number, onLoaded: (app_id: string) => void): Promise<boolean> {
    for (;;) {
      const rows = await readPage(pool, newest, number)
      if (newest > 0 && Number(rows.shift()?.number) !== newest) return false
      if (rows.length === 0) return true
      for (const { number: text, app_id, hash, mark_ms, log, log_end } of rows) {
        newest = Number(text)
        table.add(hash, newest, Number(mark_ms), log === null ? null : { source: log, offset: Number(log_end) })
        if (!firstOf.has(app_id)) firstOf.set(app_id, newest)
        onLoaded(app_id)
      }
    }
  }

  const known: KnownTombstones = {
    hasAny: (app_id, number) => (firstOf.get(app_id) ?? Number.POSITIVE_INFINITY) <= number,
    find: (hash, number) => table.find(hash, number),
    async upTo(pool, number, onLoaded) {
      if (newest < number && !(await load(pool, number, onLoaded))) return knowTombstones().upTo(pool, number, onLoaded)
      if (newest !== number && number > 0) await requireNumber(pool, number)
      return known
    },
  }
  return known
}

/** The tombstones from one number on up to another one, both inclusive. */
async function readPage(pool: Pool, from: number, to: number): Promise<TombstoneRow[]> {
  const { rows } = await pool.query<TombstoneRow>({
    name: 'tombstones',
    text: `SELECT number, app_id, hash, mark_ms, log, log_end FROM tombstones
           WHERE number >= $1 AND number <= $2 ORDER BY number LIMIT $3`,
    values: [from, to, page_rows],
  })
  return rows
}

/**
 * A number that is gone never comes back once a later one is there, since none is used twice. A batch that pinned it goes on with
 * what is left, and lost erasures have to be requested again (docs/backup.md#erasures-after-a-restore).
 */
async function requireNumber(pool: Pool, number: number): Promise<void> {
  const { rowCount } = await pool.query({
    name: 'tombstone_from',
    text: 'SELECT 1 FROM tombstones WHERE number >= $1 LIMIT 1',
    values: [number],
  })
  if (rowCount !== 0) return
  throw new TombstonesLostError(
    `PostgreSQL lacks tombstones up to ${number}, which a batch was begun with: it was put back. ` +
      'Restore a newer backup of it, or request the erasures since that backup again: docs/backup.md tells how.',
  )
}
