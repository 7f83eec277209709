import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { keySet, textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { claimRanks } from '@tributary/contracts/rows'
import { transactionKey } from '@tributary/domain/event-key'
import { type ClosedSides, isConfirmed, isRefund, type ReceiptClaim } from '@tributary/domain/money/choose-claims'
import { type EventPlace, placeOf, placeValues } from './event-places.ts'
import { claimedId, findVerdicts, type VerdictRow } from './verdict-rows.ts'

type Query = Pick<Clickhouse, 'query'>

/** A claim with what writing its choice needs. */
export interface FoundClaim extends ReceiptClaim, EventPlace {
  dated_at_ms: number
}

/** All that claims one transaction of a store, as charge or as refund. */
export interface ClaimedTransaction {
  id: string
  claims: FoundClaim[]
  /** Claims that no store confirmed, under a name whose best such claim was erased: they count nothing. */
  barred: FoundClaim[]
  is_closed: ClosedSides
  /** The keys of claims of which there may be more than were looked at. */
  crowded: string[]
}

/** All claims on the transactions with these ids of an app: events without a receipt that name them, and those whose receipt does. */
export async function findClaims(
  clickhouse: Query,
  app_id: string,
  ids: Iterable<string>,
): Promise<ClaimedTransaction[]> {
  const found: ClaimedTransaction[] = []
  const all = [...new Set(ids)].filter((id) => id !== '')
  for (let at = 0; at < all.length; at += ids_max)
    found.push(...(await findSome(clickhouse, app_id, all.slice(at, at + ids_max))))
  return found
}

/** Ids of one statement. */
const ids_max = 500
/** The best claims without a receipt on a transaction that are looked at; a client may send any number. */
export const claims_max = 1000

async function findSome(clickhouse: Query, app_id: string, ids: readonly string[]): Promise<ClaimedTransaction[]> {
  const keys = await clickhouse.query<{ id: string; charge: string; refund: string }>(
    `SELECT id, toString(sipHash64('charge', id)) AS charge, toString(sipHash64('refund', id)) AS refund
     FROM (SELECT arrayJoin([${textLiterals(ids)}]) AS id)`,
  )
  const idOf = new Map(keys.flatMap(({ id, charge, refund }) => [[charge, id] as const, [refund, id] as const]))
  const wanted = `app_id = ${textLiteral(app_id)} AND claim_key IN ${keySet(idOf.keys())}`
  const stated = await clickhouse.query<StatedRow>(
    `SELECT ${placeValues('t.')}, event_name, currency, amount_micros, claim_rank, received_at_ms, dated_at_ms, toString(t.claim_key) AS claim_key
     FROM (SELECT * FROM transaction_claims_v1 WHERE ${wanted} LIMIT 1 BY day, event_key, topic, partition, offset) AS t
     ORDER BY claim_rank DESC, received_at_ms, partition, offset LIMIT ${claims_max} BY claim_key`,
  )
  const places = await clickhouse.query<EventPlace>(
    `SELECT DISTINCT ${placeValues('t.')} FROM receipts_by_claim_v1 AS t WHERE ${wanted}`,
  )
  const verdicts = places.length === 0 ? [] : await findVerdicts(clickhouse, app_id, places)
  const byId = new Map<string, FoundClaim[]>(ids.map((id) => [id, []]))
  const judged = new Set(verdicts.map(placeOf))
  for (const row of stated) if (!judged.has(placeOf(row))) byId.get(idOf.get(row.claim_key)!)?.push(statedClaim(row))
  for (const row of verdicts) {
    const claim = claimOf(row)
    // It may have claimed another one before.
    if (claim !== null) byId.get(claimedId(row))?.push(claim)
  }
  const closed = await findClosed(clickhouse, app_id, keys, byId)
  const rowsOf = Map.groupBy(stated, ({ claim_key }) => claim_key)
  return keys.map(({ id, charge, refund }) => {
    const isBarred = (claim: FoundClaim) => !isConfirmed(claim) && closed.has(transactionKey(claim.event_name, id))
    const all = byId.get(id)!
    const is_closed = { charge: closed.has(charge), refund: closed.has(refund) }
    const crowded = [charge, refund].filter((key) => (rowsOf.get(key)?.length ?? 0) >= claims_max)
    return { id, claims: all.filter((claim) => !isBarred(claim)), barred: all.filter(isBarred), is_closed, crowded }
  })
}

interface StatedRow extends EventPlace {
  event_name: string
  currency: string
  amount_micros: number
  claim_rank: number
  received_at_ms: number
  dated_at_ms: number
  claim_key: string
}

const statedClaim = ({ currency, amount_micros, claim_rank, claim_key: _key, ...row }: StatedRow): FoundClaim => ({
  ...{ ...row, rank: claim_rank, stated: { amount_micros, currency }, price: null },
})

/** The claim of an event with a receipt; null where it claims nothing (docs/rules.md#receipts-and-money). */
export function claimOf(row: VerdictRow): FoundClaim | null {
  if (row.has_money === 0 || (row.verdict !== 'valid' && row.verdict !== 'unverified')) return null
  const { currency, amount_micros, price_currency, price_micros } = row
  return {
    ...row,
    rank: rankOf(row),
    stated: { amount_micros, currency },
    price: price_currency === '' ? null : { amount_micros: price_micros, currency: price_currency },
  }
}

const stated_ranks: Readonly<Record<string, number>> = { sdk: claimRanks.sdk, store: claimRanks.store }

/** A refund is confirmed by what the store says of it alone: a receipt says that the purchase was genuine. */
function rankOf({ source, verdict, event_name, taken_back_ms }: VerdictRow): number {
  const own = stated_ranks[source] ?? claimRanks.backend
  const is_confirmed = verdict === 'valid' && (taken_back_ms > 0 || !isRefund(event_name))
  return is_confirmed ? Math.max(own, claimRanks.receipt) : own
}

/** The keys of these transactions that are closed: of their claims, and of the names of events and the ids. */
async function findClosed(
  clickhouse: Query,
  app_id: string,
  keys: readonly { id: string; charge: string; refund: string }[],
  byId: ReadonlyMap<string, readonly FoundClaim[]>,
): Promise<Set<string>> {
  const asked = new Set<string>()
  for (const { id, charge, refund } of keys) {
    for (const key of [charge, refund]) asked.add(key)
    for (const { event_name } of byId.get(id) ?? []) asked.add(transactionKey(event_name, id))
  }
  const closed = new Set<string>()
  const all = [...asked]
  for (let at = 0; at < all.length; at += keys_max) {
    const rows = await clickhouse.query<{ key: string }>(
      `SELECT DISTINCT toString(t.transaction_key) AS key FROM erased_claims_v1 AS t
       WHERE t.app_id = ${textLiteral(app_id)} AND t.transaction_key IN ${keySet(all.slice(at, at + keys_max))}
         AND claim_rank = ${claimRanks.closed}`,
    )
    for (const { key } of rows) closed.add(key)
  }
  return closed
}

/** Keys of one statement. */
const keys_max = 40_000

/** A transaction that an event without a receipt has joined. */
export interface JoinedTransaction {
  app_id: string
  id: string
  /** When the newest of them was written, by ClickHouse's clock, Unix epoch ms. */
  written_ms: number
}

/**
 * The transactions that a receipt claims, and that claims without a receipt have joined since a moment of ClickHouse's clock: as the
 * receipt claims them, or as the charge that a refund counts beside.
 */
export const findJoined = (clickhouse: Query, since_ms: number): Promise<JoinedTransaction[]> =>
  clickhouse.query<JoinedTransaction>(
    `WITH late AS (
       SELECT app_id, claim_key, max(written_at_ms) AS written_ms FROM transaction_claims_v1
       WHERE written_at_ms >= ${Math.trunc(since_ms)} GROUP BY app_id, claim_key)
     SELECT r.app_id AS app_id, r.id AS id, max(l.written_ms) AS written_ms
     FROM (SELECT app_id, multiIf(verdict = 'valid', transaction_id, verdict = 'unverified', stated_id, '') AS id,
         arrayJoin(arrayDistinct([claim_key, sipHash64('charge', id)])) AS joined_key
       FROM receipts_v1 FINAL
       WHERE (app_id, day, install_uuid, event_key, topic, partition, offset) IN (
         SELECT app_id, day, install_uuid, event_key, topic, partition, offset FROM receipts_by_claim_v1
         WHERE (app_id, claim_key) IN (SELECT app_id, claim_key FROM late))) AS r
     INNER JOIN late AS l ON r.app_id = l.app_id AND r.joined_key = l.claim_key
     WHERE notEmpty(r.id) GROUP BY r.app_id, r.id`,
  )
