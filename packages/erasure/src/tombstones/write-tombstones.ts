import type { LogEnd } from '@tributary/domain/erasure/tombstones'
import { inTransaction } from '@tributary/postgres/transaction'
import { getSalts } from '@tributary/tenancy/secrets/attribution-secrets'
import type { PoolClient } from 'pg'
import { createTombstoneHash, type TombstoneKind } from './tombstone-hash.ts'
import type { TombstonesOptions } from './tombstones.ts'

/** An install or click that is erased from now on. */
export interface NewTombstone {
  app_id: string
  kind: TombstoneKind
  /** `install_uuid` or click id; only its keyed hash is stored. */
  id: string
  /** Unix epoch ms; see `isErased`. A click is erased whatever its time. */
  mark_ms: number
  /** End of the log of an install; see `Tombstones.logEndOf`. */
  log_end?: LogEnd | null
}

/** Key of the advisory lock; nothing else locks with it. */
const tombstones_lock = 5_210_447_302_911

/**
 * The greatest number that was used up to now, in this history of PostgreSQL or in one that a backup has replaced: numbers are
 * no smaller than the microseconds of their time (docs/decisions/erasure.md#tombstone-numbers-are-never-reused).
 */
const used_number = `greatest((SELECT coalesce(max(number), 0) FROM tombstones), floor(extract(epoch FROM clock_timestamp()) * 1e6)::bigint)`

/**
 * Writes tombstones in one transaction, with numbers that were never used, and gives back the newest one. `also` runs in the
 * same transaction once they are written. Throws for an app that is not there, or whose salt cannot be decrypted.
 */
export async function writeTombstones(
  { pool, masterKeys }: TombstonesOptions,
  tombstones: readonly NewTombstone[],
  also: (client: PoolClient, newest: number) => Promise<void> = async () => {},
): Promise<{ newest: number }> {
  const salts = await getSalts(pool, masterKeys, [...new Set(tombstones.map(({ app_id }) => app_id))])
  const hashOf = new Map([...salts].map(([app_id, salt]) => [app_id, createTombstoneHash(salt)]))
  const hashes = tombstones.map(({ app_id, kind, id }) => hashOf.get(app_id)!(kind, app_id, id))
  return inTransaction(pool, async (client) => {
    // Held until the commit is visible: a reader that sees a number sees all numbers below it.
    await client.query('SELECT pg_advisory_xact_lock($1)', [tombstones_lock])
    await client.query(
      `INSERT INTO tombstones (number, app_id, kind, hash, mark_ms, log, log_end)
       SELECT used + nth, app_id, kind, hash, mark_ms, log, log_end
       FROM (SELECT ${used_number} AS used) AS before,
         unnest($1::text[], $2::text[], $3::bytea[], $4::bigint[], $5::text[], $6::bigint[]) WITH ORDINALITY
           AS t (app_id, kind, hash, mark_ms, log, log_end, nth)`,
      [
        tombstones.map(({ app_id }) => app_id),
        tombstones.map(({ kind }) => kind),
        hashes,
        tombstones.map(({ mark_ms }) => mark_ms),
        tombstones.map(({ log_end }) => log_end?.source ?? null),
        tombstones.map(({ log_end }) => log_end?.offset ?? null),
      ],
    )
    const { rows } = await client.query<{ number: string }>('SELECT coalesce(max(number), 0) AS number FROM tombstones')
    const newest = Number(rows[0]!.number)
    await also(client, newest)
    return { newest }
  })
}
