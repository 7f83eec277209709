import type { TombstoneStore, Tombstones } from '@tributary/domain/erasure/tombstones'
import { findSalts } from '@tributary/tenancy/secrets/attribution-secrets'
import type { MasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { Mutex } from 'async-mutex'
import type { Pool } from 'pg'
import { createTombstoneHash, type TombstoneHash, type TombstoneKind } from './tombstone-hash.ts'
import { createTombstoneTable } from './tombstone-table.ts'

export type { TombstoneStore, Tombstones }

export interface TombstonesOptions {
  pool: Pool
  /** Decrypts the salts of companies whose apps have tombstones. */
  masterKeys: MasterKeys
}

/** Tombstones of one statement. */
const page_rows = 20_000

interface TombstoneRow {
  number: string
  app_id: string
  hash: Buffer
  mark_ms: string
}

/** PostgreSQL has fewer tombstones than a process has pinned: it was put back to an earlier state. */
export class TombstonesLostError extends Error {
  override name = 'TombstonesLostError'
}

/**
 * Tombstones of PostgreSQL, kept in memory. A number that is known costs no query; another one loads what is new. Look-ups for an
 * app without tombstones cost no hash. Those for an app whose salt cannot be decrypted throw.
 */
export function openTombstones({ pool, masterKeys }: TombstonesOptions): TombstoneStore {
  const table = createTombstoneTable()
  const firstOf = new Map<string, number>()
  const hashes = new Map<string, TombstoneHash | Error | null>()
  const loading = new Mutex()
  let loaded = 0

  async function load(number: number): Promise<void> {
    while (loaded < number) {
      const rows = await readPage(pool, loaded, number)
      if (rows.length === 0) {
        throw new TombstonesLostError(
          `PostgreSQL lacks tombstones: it has ${loaded}, and a batch was begun with ${number}. ` +
            'Restore a newer backup of PostgreSQL.',
        )
      }
      for (const { number: text, app_id, hash, mark_ms } of rows) {
        loaded = Number(text)
        table.add(hash, loaded, Number(mark_ms))
        if (!firstOf.has(app_id)) firstOf.set(app_id, loaded)
      }
    }
    const lacking = [...firstOf.keys()].filter((app_id) => typeof hashes.get(app_id) !== 'function')
    if (lacking.length === 0) return
    for (const [app_id, salt] of await findSalts(pool, masterKeys, lacking))
      hashes.set(app_id, Buffer.isBuffer(salt) ? createTombstoneHash(salt) : salt)
  }

  function find(kind: TombstoneKind, app_id: string, id: string, number: number): number | null {
    if (!isIn(app_id, number)) return null
    const hash = hashes.get(app_id) ?? null
    if (hash instanceof Error) throw hash
    // A salt that was lost with its master key is made anew: what it had hashed is known to nobody.
    return hash === null ? null : table.find(hash(kind, app_id, id), number)
  }

  const isIn = (app_id: string, number: number): boolean => (firstOf.get(app_id) ?? Number.POSITIVE_INFINITY) <= number

  return {
    async newest() {
      const { rows } = await pool.query<{ number: string }>({
        name: 'newest_tombstone',
        text: 'SELECT coalesce(max(number), 0) AS number FROM tombstones',
      })
      return Number(rows[0]!.number)
    },
    async upTo(number): Promise<Tombstones> {
      await loading.runExclusive(() => load(number))
      return {
        number,
        hasAny: (app_id) => isIn(app_id, number),
        markOf: (app_id, install_uuid) => find('install', app_id, install_uuid, number),
        isErasedClick: (app_id, click_id) => find('click', app_id, click_id, number) !== null,
      }
    },
  }
}

async function readPage(pool: Pool, after: number, to: number): Promise<TombstoneRow[]> {
  const { rows } = await pool.query<TombstoneRow>({
    name: 'tombstones',
    text: `SELECT number, app_id, hash, mark_ms FROM tombstones
           WHERE number > $1 AND number <= $2 ORDER BY number LIMIT $3`,
    values: [after, to, page_rows],
  })
  return rows
}
