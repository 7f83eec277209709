import type { TombstoneStore, Tombstones } from '@tributary/domain/erasure/tombstones'
import { findSalts } from '@tributary/tenancy/secrets/attribution-secrets'
import type { MasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { Mutex } from 'async-mutex'
import type { Pool } from 'pg'
import { type KnownTombstones, knowTombstones } from './known-tombstones.ts'
import { createTombstoneHash, type TombstoneHash, type TombstoneKind } from './tombstone-hash.ts'
import type { Found } from './tombstone-table.ts'

export type { TombstoneStore, Tombstones }

export interface TombstonesOptions {
  pool: Pool
  /** Decrypts the salts of companies whose apps have tombstones. */
  masterKeys: MasterKeys
}

/** Pause between two attempts to read salts that were unreadable; a new tombstone ends it. */
const salts_pause_ms = 1000

/**
 * Tombstones of PostgreSQL, kept in memory. A number that is known costs no query; another one loads what is new. Look-ups for an
 * app without tombstones cost no hash. Those for an app whose salt cannot be decrypted throw, until it can.
 */
export function openTombstones(
  { pool, masterKeys }: TombstonesOptions,
  clock_ms: () => number = () => performance.now(),
): TombstoneStore {
  const hashes = new Map<string, TombstoneHash | Error | null>()
  /** Apps whose salt has to be read. */
  const unhashed = new Set<string>()
  const loading = new Mutex()
  let known = knowTombstones()
  let look_again_ms = Number.NEGATIVE_INFINITY

  async function load(number: number): Promise<KnownTombstones> {
    known = await known.upTo(pool, number, (app_id) => {
      // A known hash does not suffice: a new tombstone may be hashed with a salt that was made since.
      unhashed.add(app_id)
      look_again_ms = Number.NEGATIVE_INFINITY
    })
    if (unhashed.size > 0 && clock_ms() >= look_again_ms) await readSalts()
    return known
  }

  async function readSalts(): Promise<void> {
    for (const [app_id, salt] of await findSalts(pool, masterKeys, [...unhashed])) {
      hashes.set(app_id, Buffer.isBuffer(salt) ? createTombstoneHash(salt) : salt)
      if (Buffer.isBuffer(salt)) unhashed.delete(app_id)
    }
    look_again_ms = clock_ms() + salts_pause_ms
  }

  function find(of: KnownTombstones, kind: TombstoneKind, app_id: string, id: string, number: number): Found | null {
    if (!of.hasAny(app_id, number)) return null
    const hash = hashes.get(app_id) ?? null
    if (hash instanceof Error) throw hash
    // A salt that was lost with its master key is made anew: what it had hashed is known to nobody.
    return hash === null ? null : of.find(hash(kind, app_id, id), number)
  }

  return {
    async newest() {
      const { rows } = await pool.query<{ number: string }>({
        name: 'newest_tombstone',
        text: 'SELECT coalesce(max(number), 0) AS number FROM tombstones',
      })
      return Number(rows[0]!.number)
    },
    async upTo(number): Promise<Tombstones> {
      const of = await loading.runExclusive(() => load(number))
      return {
        number,
        hasAny: (app_id) => of.hasAny(app_id, number),
        isLocked: (app_id) => of.hasAny(app_id, number) && hashes.get(app_id) instanceof Error,
        markOf: (app_id, install_uuid) => find(of, 'install', app_id, install_uuid, number)?.mark_ms ?? null,
        logEndOf: (app_id, install_uuid) => find(of, 'install', app_id, install_uuid, number)?.log_end ?? null,
        isErasedClick: (app_id, click_id) => find(of, 'click', app_id, click_id, number) !== null,
      }
    },
  }
}
