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

/**
 * Queues requests, in any order and any number of times: the greatest time of an install counts (docs/adr/0040). A request that
 * an erasure has covered changes nothing. Returns the requests that it could not queue.
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
  if (hashed.length > 0) await upsert(pool, newestOf(hashed))
  const left = asked.filter(({ app_id }) => !hashOf.has(app_id))
  return new Map(left.map((one) => [one, found.has(one.app_id) ? 'salt_unreadable' : 'unknown_app']))
}

type Hashed = ErasureToQueue & { hash: Buffer }

/** One request of each install, in one order, so that two writers do not wait for each other in a circle. */
function newestOf(asked: readonly Hashed[]): Hashed[] {
  const byInstall = Map.groupBy(asked, ({ app_id, hash }) => `${app_id}/${hash.toString('hex')}`)
  return [...byInstall]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, of]) => ({
      ...of[0]!,
      requested_at_ms: Math.max(...of.map((one) => one.requested_at_ms)),
      asked_by: of.some((one) => one.asked_by === 'admin') ? 'admin' : 'sdk',
    }))
}

async function upsert(pool: Pool, asked: readonly Hashed[]): Promise<void> {
  await pool.query(
    `INSERT INTO erasure_requests AS e (app_id, install_hash, install_uuid, asked_by, requested_at_ms)
     SELECT * FROM unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::bigint[])
     ON CONFLICT (app_id, install_hash) DO UPDATE SET
       install_uuid = excluded.install_uuid,
       asked_by = CASE WHEN e.requested_at_ms > e.erased_up_to_ms AND e.asked_by = 'admin' THEN 'admin' ELSE excluded.asked_by END,
       requested_at_ms = greatest(e.requested_at_ms, excluded.requested_at_ms)
     WHERE excluded.requested_at_ms > e.erased_up_to_ms
       AND (excluded.requested_at_ms > e.requested_at_ms OR excluded.asked_by = 'admin' AND e.asked_by = 'sdk')`,
    [
      asked.map(({ app_id }) => app_id),
      asked.map(({ hash }) => hash),
      asked.map(({ install_uuid }) => install_uuid),
      asked.map(({ asked_by }) => asked_by),
      asked.map(({ requested_at_ms }) => requested_at_ms),
    ],
  )
}
