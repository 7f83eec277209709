import { limits } from '@tributary/contracts/limits'
import type { ReceiptReason } from '@tributary/contracts/receipt/judged-receipt'
import { type Store, stores } from '@tributary/contracts/receipt/receipt'
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
  reason: ReceiptReason | null
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

/** Of two indexes, in their words. A try that broke off may have left no verdict: it waits for no store. */
const isOpen = '(tries = 0 OR lease IS NOT NULL OR asks IS NULL)'
const isWaiting = 'tries > 0 AND lease IS NULL AND asks IS NOT NULL'
/** One row: a planner that thinks of all of them reads all of them. */
const dueSql = (which: string): string =>
  `(SELECT true FROM due_receipts d WHERE d.app_id = waiting.app_id AND d.next_try_ms <= ${clock_ms} AND ${which} LIMIT 1)`

const appsSql = `
  WITH RECURSIVE waiting AS (
    (SELECT app_id FROM due_receipts ORDER BY app_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.app_id FROM due_receipts d WHERE d.app_id > waiting.app_id ORDER BY d.app_id LIMIT 1)
    FROM waiting WHERE waiting.app_id IS NOT NULL)
  SELECT app_id FROM waiting WHERE app_id IS NOT NULL
    AND coalesce(${dueSql(isOpen)}, ${dueSql(`${isWaiting} AND asks = 'apple'`)}, ${dueSql(`${isWaiting} AND asks = 'google'`)})`

/** Which receipts of an app are taken. */
export interface Wanted {
  app_id: string
  max: number
  /** Stores that rest, because they were away: what has to ask them and has a verdict already waits. */
  resting: readonly Store[]
}

/**
 * Takes receipts for one try each. Nobody else tries them until the lease ends: a process that was killed delays them for that long.
 * New ones and those that wait for a store have a half each, and what the others leave.
 */
export async function takeDue(pool: Client, { app_id, max, resting }: Wanted): Promise<TakenReceipt[]> {
  const taken: TakenReceipt[] = []
  async function take(name: keyof typeof takeSql, most: number, more: readonly unknown[] = []) {
    if (most <= 0) return
    const { rows } = await pool.query<Omit<TakenReceipt, 'receipt'> & { receipt: string | null }>({
      ...{ name: `take_${name}_receipts`, text: takeSql[name] },
      values: [app_id, most, limits.receipt_lease_ms, limits.receipt_tries_ms_max, ...more],
    })
    for (const { receipt, ...row } of rows)
      taken.push({ ...row, receipt: receipt === null ? undefined : (JSON.parse(receipt) as unknown) })
  }
  await take('open', Math.ceil(max / 2))
  const is_more_open = taken.length >= max / 2
  for (const store of stores) {
    if (!resting.includes(store)) await take('waiting', max - taken.length, [store])
  }
  // What is over comes though its store rests, since its last verdict stays.
  if (resting.length > 0) await take('old', max - taken.length)
  if (is_more_open) await take('open', max - taken.length)
  return taken
}

const takingSql = (which: string, order: 'next_try_ms' | 'tried_from_ms'): string => `
  WITH chosen AS (
    SELECT ${placeNames}, lease IS NOT NULL AS broken_off FROM due_receipts
    WHERE app_id = $1 AND next_try_ms <= ${clock_ms} AND ${which}
    ORDER BY ${order} LIMIT $2 FOR UPDATE SKIP LOCKED)
  UPDATE due_receipts d SET lease = gen_random_uuid(), next_try_ms = ${clock_ms} + $3::bigint, tries = tries + 1
  FROM chosen e WHERE ${isPlace}
  RETURNING d.app_id, d.install_uuid, to_char(d.day, 'YYYY-MM-DD') AS day, d.event_key::text, d.topic, d.partition, d."offset"::float8 AS "offset",
    d.event_name, d.product_id, d.transaction_id, d.receipt, d.asks, d.dated_at_ms::float8, d.tries, d.lease::text, e.broken_off,
    (d.tried_from_ms + $4::bigint - ${clock_ms})::float8 AS left_ms`

/** Each in the order of an index. */
const takeSql = {
  open: takingSql(isOpen, 'next_try_ms'),
  waiting: takingSql(`${isWaiting} AND asks = $5`, 'next_try_ms'),
  old: takingSql(`tries > 0 AND lease IS NULL AND tried_from_ms <= ${clock_ms} - $4::bigint`, 'tried_from_ms'),
} as const

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
      `UPDATE due_receipts d SET lease = NULL, reason = e.reason,
         next_try_ms = CASE d.next_try_ms WHEN 0 THEN 0 ELSE ${clock_ms} + e.pause_ms END
       FROM unnest(${placeTypes}, $7::uuid[], $8::bigint[], $9::text[]) AS e (${placeNames}, lease, pause_ms, reason) WHERE ${isTry}`,
      [
        ...[...placesOf(taken), taken.map(({ lease }) => lease)],
        ...[put_off.map(({ pause_ms }) => Math.ceil(pause_ms)), put_off.map(({ reason }) => reason)],
      ],
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

/** An app whose receipts have waited for long. */
export interface LongWait {
  app_id: string
  reason: ReceiptReason
  /** Since when the oldest of them is tried, Unix epoch ms. */
  since_ms: number
}

/** Of each of these apps the receipt that has waited longest for a store that is away or for credentials, if it has waited so long. */
export async function findLongWaits(pool: Client, app_ids: readonly string[], waited_ms: number): Promise<LongWait[]> {
  const { rows } = await pool.query<LongWait>(
    `SELECT app_id, oldest.reason, oldest.tried_from_ms::float8 AS since_ms FROM unnest($1::text[]) AS app_id
     CROSS JOIN LATERAL (
       SELECT reason, tried_from_ms FROM due_receipts d
       WHERE d.app_id = app_id.app_id AND tries > 0 AND reason IN ('store_away', 'no_credentials')
         AND tried_from_ms <= ${clock_ms} - $2::bigint
       ORDER BY tried_from_ms LIMIT 1) AS oldest`,
    [app_ids, waited_ms],
  )
  return rows
}

/** What waits: all of it, and what has no verdict at all. Ages in milliseconds by the clock of PostgreSQL, null without any. */
export async function readReceiptBacklog(
  pool: Client,
): Promise<{ due: number; unjudged: number; oldest_ms: number | null; oldest_unjudged_ms: number | null }> {
  const { rows } = await pool.query(backlogSql)
  return rows[0]
}

/** Each part by an index alone: rows have a receipt each, and there may be hundreds of thousands. */
const backlogSql = `
  SELECT (SELECT count(*)::int FROM due_receipts) AS due, unjudged,
    (${clock_ms} - least(oldest_open, (SELECT min(tried_from_ms) FROM due_receipts WHERE tries > 0)))::float8 AS oldest_ms,
    (${clock_ms} - oldest_unjudged)::float8 AS oldest_unjudged_ms
  FROM (
    SELECT (count(*) FILTER (WHERE is_unjudged))::int AS unjudged, min(tried_from_ms) FILTER (WHERE is_unjudged) AS oldest_unjudged,
      min(tried_from_ms) AS oldest_open
    FROM (SELECT tried_from_ms, tries = 0 OR lease IS NOT NULL AND tries = 1 AS is_unjudged FROM due_receipts WHERE ${isOpen}) AS open
  ) AS opened`
