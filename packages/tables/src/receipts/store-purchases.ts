import { hash } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import type { Store } from '@tributary/contracts/receipt/receipt'
import type { NotifiedEvent } from '@tributary/domain/receipt/notified-event'
import type { Pool, PoolClient } from 'pg'
import { clock_ms } from '../partners/due-postbacks.ts'

type Client = Pick<Pool | PoolClient, 'query'>

/** A purchase that a store confirmed, with the install whose receipt named it. */
export interface StorePurchase {
  app_id: string
  /** What all transactions of the purchase have in common. */
  original_id: string
  install_uuid: string
  dated_at_ms: number
}

/** Names a purchase. */
export type PurchaseKey = Pick<StorePurchase, 'app_id' | 'original_id'>

const hashOf = ({ original_id }: Pick<PurchaseKey, 'original_id'>): Buffer => hash('sha256', original_id, 'buffer')
const keysOf = (keys: readonly PurchaseKey[]) => [keys.map(({ app_id }) => app_id), keys.map(hashOf)]

/** Keeps which install bought what. The first one stays, also one that was erased. */
export async function addPurchases(pool: Client, purchases: readonly StorePurchase[]): Promise<void> {
  if (purchases.length === 0) return
  // Rows have one order everywhere: two processes that add the same ones would wait for each other in a circle.
  const ordered = purchases.toSorted((a, b) => Buffer.compare(hashOf(a), hashOf(b)))
  await pool.query({
    name: 'add_store_purchases',
    text: `INSERT INTO store_purchases (app_id, original_hash, install_uuid, dated_at_ms)
           SELECT * FROM unnest($1::text[], $2::bytea[], $3::text[], $4::bigint[]) ON CONFLICT DO NOTHING`,
    values: [
      ...keysOf(ordered),
      ...[ordered.map(({ install_uuid }) => install_uuid), ordered.map(({ dated_at_ms }) => dated_at_ms)],
    ],
  })
}

/** A notification that becomes an event, with what the log needs besides. */
export interface Notified {
  app_id: string
  company_id: string
  store: Store
  audit_key: string
  event: NotifiedEvent
}

/** Keeps notifications until their install is known. One that is there stays as it is, and one of an unknown app is left out. */
export async function addWaiting(pool: Client, notified: readonly Notified[]): Promise<void> {
  if (notified.length === 0) return
  const ordered = notified.toSorted((a, b) => (a.event.event_id < b.event.event_id ? -1 : 1))
  await pool.query({
    name: 'add_waiting_notifications',
    text: `INSERT INTO waiting_notifications (app_id, original_hash, notification_id, notified, until_ms)
           SELECT given.*, ${clock_ms} + $5::bigint FROM unnest($1::text[], $2::bytea[], $3::text[], $4::text[]) AS given (app_id)
           WHERE EXISTS (SELECT 1 FROM apps WHERE apps.app_id = given.app_id) ON CONFLICT DO NOTHING`,
    values: [
      ...keysOf(ordered.map(({ app_id, event }) => ({ app_id, original_id: event.original_id }))),
      ...[ordered.map(({ event }) => event.event_id), ordered.map((one) => JSON.stringify(one))],
      limits.store_notification_kept_ms,
    ],
  })
}

/** A waiting notification whose purchase is known. */
export interface JoinedNotification {
  notified: Notified
  /** Null: the install was erased. */
  install_uuid: string | null
}

/** The notifications that wait for these purchases and whose install is known. */
export async function findJoinedNotifications(
  pool: Client,
  keys: readonly PurchaseKey[],
): Promise<JoinedNotification[]> {
  if (keys.length === 0) return []
  const { rows } = await pool.query<{ notified: string; install_uuid: string | null }>({
    name: 'find_joined_notifications',
    text: `SELECT w.notified, p.install_uuid FROM waiting_notifications w JOIN store_purchases p USING (app_id, original_hash)
           WHERE (w.app_id, w.original_hash) IN (SELECT * FROM unnest($1::text[], $2::bytea[]))
           ORDER BY w.app_id, w.notification_id LIMIT ${joined_max}`,
    values: keysOf(keys),
  })
  return rows.map(({ notified, install_uuid }) => ({ notified: JSON.parse(notified) as Notified, install_uuid }))
}

/** Notifications of one look; the next one finds the others. */
const joined_max = 1000

/** Ends the wait of notifications. */
export async function removeWaiting(pool: Client, notified: readonly Notified[]): Promise<void> {
  if (notified.length === 0) return
  await pool.query(
    `DELETE FROM waiting_notifications WHERE (app_id, notification_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))`,
    [notified.map(({ app_id }) => app_id), notified.map(({ event }) => event.event_id)],
  )
}

/** Deletes notifications that nobody waits for any more. */
export async function removeOldWaiting(pool: Client): Promise<void> {
  await pool.query(`DELETE FROM waiting_notifications WHERE until_ms <= ${clock_ms}`)
}

/** Takes erased installs out of their purchases: what the stores say of these later is dropped. */
export async function eraseFromPurchases(
  pool: Client,
  app_id: string,
  installs: readonly { install_uuid: string; mark_ms: number }[],
): Promise<void> {
  await pool.query(
    `UPDATE store_purchases p SET install_uuid = NULL FROM unnest($2::text[], $3::bigint[]) AS e (install_uuid, mark_ms)
     WHERE p.app_id = $1 AND p.install_uuid = e.install_uuid AND p.dated_at_ms <= e.mark_ms`,
    [app_id, installs.map(({ install_uuid }) => install_uuid), installs.map(({ mark_ms }) => mark_ms)],
  )
}
