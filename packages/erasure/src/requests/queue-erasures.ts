import { findSalts, getSalts } from '@tributary/tenancy/secrets/attribution-secrets'
import type { Pool } from 'pg'
import { createTombstoneHash } from '../tombstones/tombstone-hash.ts'
import type { TombstonesOptions } from '../tombstones/tombstones.ts'

/** A request to erase an install. */
export interface ErasureToQueue {
  app_id: string
  install_uuid: string
  /** Unix epoch ms. */
  requested_at_ms: number
  /** `sdk` waits behind `admin`. */
  asked_by: 'sdk' | 'admin'
}

/** Why a request was not queued: its app is not there, or the salt that hides its install cannot be decrypted. */
export type NotQueued = 'unknown_app' | 'salt_unreadable'

/** Times of requests that an install keeps, the latest ones. */
const asked_max = 1000

/**
 * Queues requests, in any order and any number of times: the greatest time of an install counts
 * (docs/decisions/erasure.md#an-erasure-request-is-a-cutoff). A record of the topic that comes again changes nothing, and is known by its
 * time. One with another time is a new request, also if its time is before the mark of an erasure: a clock was behind
 * (docs/decisions/erasure.md#a-request-is-known-by-its-time). Returns the requests that it could not queue.
 */
export async function queueErasures(
  { pool, masterKeys }: TombstonesOptions,
  asked: readonly ErasureToQueue[],
): Promise<Map<ErasureToQueue, NotQueued>> {
  const found = await findSalts(pool, masterKeys, [...new Set(asked.map(({ app_id }) => app_id))])
  const readable = [...found].flatMap(([app_id, salt]) => (salt instanceof Error ? [] : [app_id]))
  const salts = await getSalts(pool, masterKeys, readable)
  const hashOf = new Map([...salts].map(([app_id, salt]) => [app_id, createTombstoneHash(salt)]))
  const hashed = asked.flatMap((one) => {
    const hash = hashOf.get(one.app_id)?.('install', one.app_id, one.install_uuid)
    return hash === undefined ? [] : [{ ...one, hash }]
  })
  if (hashed.length > 0) await upsert(pool, mergeByInstall(hashed))
  const left = asked.filter(({ app_id }) => !hashOf.has(app_id))
  return new Map(left.map((one) => [one, found.has(one.app_id) ? 'salt_unreadable' : 'unknown_app']))
}

type Hashed = ErasureToQueue & { hash: Buffer }
type Merged = Hashed & { asked_ms: number[] }

/** One request of each install, in one order, so that two writers do not wait for each other in a circle. */
function mergeByInstall(asked: readonly Hashed[]): Merged[] {
  const byInstall = Map.groupBy(asked, ({ app_id, hash }) => `${app_id}/${hash.toString('hex')}`)
  return [...byInstall]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, of]) => {
      const asked_ms = of.map((one) => one.requested_at_ms)
      const asked_by = of.some((one) => one.asked_by === 'admin') ? 'admin' : 'sdk'
      return { ...of[0]!, requested_at_ms: Math.max(...asked_ms), asked_ms, asked_by }
    })
}

async function upsert(pool: Pool, asked: readonly Merged[]): Promise<void> {
  await pool.query(
    `INSERT INTO erasure_requests AS e (app_id, install_hash, install_uuid, asked_by, requested_at_ms, asked_ms)
     SELECT app_id, install_hash, install_uuid, asked_by, requested_at_ms, asked_ms::bigint[]
     FROM unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::bigint[], $6::text[])
       AS t (app_id, install_hash, install_uuid, asked_by, requested_at_ms, asked_ms)
     ON CONFLICT (app_id, install_hash) DO UPDATE SET
       install_uuid = excluded.install_uuid,
       asked_by = CASE WHEN e.requested_at_ms > e.erased_up_to_ms AND e.asked_by = 'admin' THEN 'admin' ELSE excluded.asked_by END,
       requested_at_ms = greatest(e.requested_at_ms, excluded.requested_at_ms, e.erased_up_to_ms + 1, e.mark_ms + 1),
       asked_ms = ARRAY(SELECT DISTINCT unnest(e.asked_ms || excluded.asked_ms) AS ms ORDER BY ms DESC LIMIT $7)
     WHERE excluded.asked_by = 'admin' OR NOT excluded.asked_ms <@ e.asked_ms`,
    [
      asked.map(({ app_id }) => app_id),
      asked.map(({ hash }) => hash),
      asked.map(({ install_uuid }) => install_uuid),
      asked.map(({ asked_by }) => asked_by),
      asked.map(({ requested_at_ms }) => requested_at_ms),
      // The lists travel as text: arrays of different lengths are no array of arrays.
      asked.map(({ asked_ms }) => `{${asked_ms}}`),
      asked_max,
    ],
  )
}
