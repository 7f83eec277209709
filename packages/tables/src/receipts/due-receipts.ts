import { limits } from '@tributary/contracts/limits'
import type { Store } from '@tributary/contracts/receipt/receipt'
import type { Pool, PoolClient } from 'pg'
import { clock_ms } from '../partners/due-postbacks.ts'
import type { EventPlace } from './event-places.ts'

type Client = Pick<Pool | PoolClient, 'query'>

/** A written event whose receipt has to be judged. */
export interface DueReceipt extends EventPlace {
  app_id: string
  event_name: string
  product_id: string | null
  transaction_id: string | null
  /** `props.receipt`; undefined for an event that a store sent itself. */
  receipt: unknown
  /** The store that has to be asked for a verdict; null where the receipt proves itself. */
  asks: Store | null
  dated_at_ms: number
}

/** A row that this process judges now. */
export interface TakenReceipt extends DueReceipt {
  /** Number of this try, from 1. */
  tries: number
  lease: string
  /** The try before broke off: some of it may have been done. */
  broken_off: boolean
  /** How long it may still be judged again; 0 or less: not any more. */
  left_ms: number
}

/** A try that ended without a final verdict. */
export interface PutOff {
  taken: TakenReceipt
  pause_ms: number
}

/** Rows of one statement: a receipt may have 32 KiB. */
const rows_max = 200

/** Adds receipts of written events. One that is there stays as it is, and one of an app that PostgreSQL does not know is left out. Durable when it resolves; gives back how many are new. */
export async function addDue(pool: Client, receipts: readonly DueReceipt[]): Promise<number> {
  let added = 0
  for (let at = 0; at < receipts.length; at += rows_max) {
    const some = receipts.slice(at, at + rows_max)
    const of = <T>(value: (one: DueReceipt) => T) => some.map(value)
    const { rowCount } = await pool.query({
      ...{ name: 'add_due_receipts', text: addSql },
      values: [
        ...placesOf(some),
        ...[of((one) => one.install_uuid), of((one) => one.event_name), of((one) => one.product_id)],
        ...[of((one) => one.transaction_id), of((one) => textOf(one.receipt)), of((one) => one.asks)],
        of((one) => one.dated_at_ms),
      ],
    })
    added += rowCount ?? 0
  }
  return added
}

/** A NUL, which PostgreSQL cannot hold, stands in JSON as its escape. */
const textOf = (receipt: unknown): string | null => (receipt === undefined ? null : JSON.stringify(receipt))

const placesOf = (rows: readonly DueReceipt[]) => [
  ...[rows.map((one) => one.app_id), rows.map((one) => one.day), rows.map((one) => one.event_key)],
  ...[rows.map((one) => one.topic), rows.map((one) => one.partition), rows.map((one) => one.offset)],
]
const placeTypes = '$1::text[], $2::date[], $3::numeric[], $4::text[], $5::int[], $6::bigint[]'
const placeNames = 'app_id, day, event_key, topic, partition, "offset"'
const isPlace = `d.app_id = e.app_id AND d.day = e.day AND d.event_key = e.event_key AND d.topic = e.topic
  AND d.partition = e.partition AND d."offset" = e."offset"`

const addSql = `
  INSERT INTO due_receipts (${placeNames}, install_uuid, event_name, product_id, transaction_id, receipt, asks, dated_at_ms,
    tried_from_ms, next_try_ms)
  SELECT given.*, ${clock_ms}, ${clock_ms}
  FROM unnest(${placeTypes}, $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::bigint[]) AS given (app_id)
  WHERE EXISTS (SELECT 1 FROM apps WHERE apps.app_id = given.app_id)
  ON CONFLICT DO NOTHING`

/** The apps that have something to judge now. It looks into the index once for each that has anything waiting. */
export async function findDueApps(pool: Client): Promise<string[]> {
  const { rows } = await pool.query<{ app_id: string }>({ name: 'due_receipt_apps', text: appsSql })
  return rows.map(({ app_id }) => app_id)
}

const appsSql = `
  WITH RECURSIVE waiting AS (
    (SELECT app_id FROM due_receipts ORDER BY app_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.app_id FROM due_receipts d WHERE d.app_id > waiting.app_id ORDER BY d.app_id LIMIT 1)
    FROM waiting WHERE waiting.app_id IS NOT NULL)
  SELECT app_id FROM waiting WHERE app_id IS NOT NULL
    AND EXISTS (SELECT 1 FROM due_receipts d WHERE d.app_id = waiting.app_id AND d.next_try_ms <= ${clock_ms})`

/** Which receipts of an app are taken. */
export interface Wanted {
  app_id: string
  max: number
  /** Stores that rest, because they were away: what has to ask them and has a verdict already waits. */
  resting: readonly Store[]
}

/** Takes receipts for one try each. Nobody else tries them until the lease ends: a process that was killed delays them for that long. */
export async function takeDue(pool: Client, { app_id, max, resting }: Wanted): Promise<TakenReceipt[]> {
  const { rows } = await pool.query<Omit<TakenReceipt, 'receipt'> & { receipt: string | null }>({
    ...{ name: 'take_due_receipts', text: takeSql },
    values: [app_id, max, resting, limits.receipt_lease_ms, limits.receipt_tries_ms_max],
  })
  return rows.map(({ receipt, ...row }) => ({
    ...row,
    receipt: receipt === null ? undefined : (JSON.parse(receipt) as unknown),
  }))
}

/** What is over comes whatever it waits for, since its last verdict stays; so does a try that broke off, which may have left none. */
const takeSql = `
  WITH chosen AS (
    SELECT ${placeNames}, lease IS NOT NULL AS broken_off FROM due_receipts
    WHERE app_id = $1 AND next_try_ms <= ${clock_ms}
      AND (tries = 0 OR lease IS NOT NULL OR asks IS NULL OR NOT asks = ANY($3::text[]) OR tried_from_ms + $5::bigint <= ${clock_ms})
    ORDER BY next_try_ms LIMIT $2 FOR UPDATE SKIP LOCKED)
  UPDATE due_receipts d SET lease = gen_random_uuid(), next_try_ms = ${clock_ms} + $4::bigint, tries = tries + 1
  FROM chosen e WHERE ${isPlace}
  RETURNING d.app_id, d.install_uuid, to_char(d.day, 'YYYY-MM-DD') AS day, d.event_key::text, d.topic, d.partition, d."offset"::float8 AS "offset",
    d.event_name, d.product_id, d.transaction_id, d.receipt, d.asks, d.dated_at_ms::float8, d.tries, d.lease::text, e.broken_off,
    (d.tried_from_ms + $5::bigint - ${clock_ms})::float8 AS left_ms`

/**
 * Ends tries: those with a final verdict go, the others come again, at once where credentials were set meanwhile (`next_try_ms` is 0).
 * One whose lease ended meanwhile changes nothing any more.
 */
export async function endTries(
  pool: Client,
  { judged, put_off }: { judged: readonly TakenReceipt[]; put_off: readonly PutOff[] },
): Promise<void> {
  const isTry = `${isPlace} AND d.lease = e.lease`
  if (judged.length > 0) {
    await pool.query(
      `DELETE FROM due_receipts d USING unnest(${placeTypes}, $7::uuid[]) AS e (${placeNames}, lease) WHERE ${isTry}`,
      [...placesOf(judged), judged.map(({ lease }) => lease)],
    )
  }
  if (put_off.length > 0) {
    const taken = put_off.map((one) => one.taken)
    await pool.query(
      `UPDATE due_receipts d SET lease = NULL, next_try_ms = CASE d.next_try_ms WHEN 0 THEN 0 ELSE ${clock_ms} + e.pause_ms END
       FROM unnest(${placeTypes}, $7::uuid[], $8::bigint[]) AS e (${placeNames}, lease, pause_ms) WHERE ${isTry}`,
      [...placesOf(taken), taken.map(({ lease }) => lease), put_off.map(({ pause_ms }) => Math.ceil(pause_ms))],
    )
  }
}

/** Removes what is due of erased installs: what a process has in hand finds no event any more. */
export async function removeErasedReceipts(
  pool: Client,
  app_id: string,
  installs: readonly { install_uuid: string; mark_ms: number }[],
): Promise<void> {
  await pool.query(
    `DELETE FROM due_receipts d USING unnest($2::text[], $3::bigint[]) AS e (install_uuid, mark_ms)
     WHERE d.app_id = $1 AND d.install_uuid = e.install_uuid AND d.dated_at_ms <= e.mark_ms`,
    [app_id, installs.map(({ install_uuid }) => install_uuid), installs.map(({ mark_ms }) => mark_ms)],
  )
}

/** What waits: all of it, and what has no verdict at all. Ages in milliseconds by the clock of PostgreSQL, null without any. */
export async function readReceiptBacklog(
  pool: Client,
): Promise<{ due: number; unjudged: number; oldest_ms: number | null; oldest_unjudged_ms: number | null }> {
  const { rows } = await pool.query(
    `SELECT count(*)::int AS due, (count(*) FILTER (WHERE tries = 0 OR lease IS NOT NULL AND tries = 1))::int AS unjudged,
       (${clock_ms} - min(tried_from_ms))::float8 AS oldest_ms,
       (${clock_ms} - min(tried_from_ms) FILTER (WHERE tries = 0 OR lease IS NOT NULL AND tries = 1))::float8 AS oldest_unjudged_ms
     FROM due_receipts`,
  )
  return rows[0]
}
