import { createHash, randomUUID } from 'node:crypto'
import { type RevenueRow, revenueRowColumns } from '@tributary/contracts/rows'
import type { Clickhouse } from './clickhouse.ts'
import {
  findTransactionClaims,
  selectTransactions,
  type TransactionClaim,
  type TransactionLookup,
  transactionOf,
} from './transaction-keys.ts'

type Position = Pick<TransactionClaim, 'topic' | 'partition' | 'offset'>
type Claimed = TransactionLookup & Position

/**
 * Cancels the money of all but the best claim on each of the transactions, and returns how many it cancelled
 * (docs/adr/0195). May be called at any time, by any number of processes: `revenue_cancelled_v1` is a set, and a claim
 * that a better one beats is beaten for ever. With `again`, rows that are there are put in once more: after a crash in the midst
 * of an insert the stamps of their days may lack them (docs/adr/0270).
 */
export async function cancelBeatenClaims(
  clickhouse: Clickhouse,
  lookups: readonly TransactionLookup[],
  { again = false } = {},
): Promise<number> {
  const beaten = beatenClaims(await findTransactionClaims(clickhouse, lookups))
  if (beaten.length === 0) return 0
  const open = new Map(beaten.map((claim) => [claimOf(claim), claim]))
  // These tables have no order by transaction: the days bound what is read.
  const days = new Set(beaten.map(({ day }) => day))
  const done = await selectTransactions<RevenueRow>(clickhouse, beaten, 'revenue_cancelled_v1', revenueRowColumns, days)
  if (again && done.length > 0) await cancel(clickhouse, done, randomUUID())
  for (const row of done) open.delete(claimOf(row))
  const lacking = [...open.values()]
  const found = await selectTransactions<RevenueRow>(clickhouse, lacking, 'revenue_raw_v1', revenueRowColumns, days)
  // A claim has its money there, unless its install was erased.
  const rows = found.filter((row) => open.has(claimOf(row)))
  if (rows.length > 0) await cancel(clickhouse, rows)
  return rows.length
}

/** All claims but the best of each transaction, in one order for everybody: rank, received time, log position. */
export function beatenClaims(claims: readonly TransactionClaim[]): TransactionClaim[] {
  const best = bestClaims(claims)
  return claims.filter((claim) => byPrecedence(claim, best.get(transactionOf(claim))!) > 0)
}

/** The best claim of each transaction, by `transactionOf`. */
export function bestClaims<Claim extends TransactionClaim>(claims: readonly Claim[]): Map<string, Claim> {
  const best = new Map<string, Claim>()
  for (const claim of claims) {
    const transaction = transactionOf(claim)
    const other = best.get(transaction)
    if (other === undefined || byPrecedence(claim, other) < 0) best.set(transaction, claim)
  }
  return best
}

const byPrecedence = (a: TransactionClaim, b: TransactionClaim): number =>
  b.claim_rank - a.claim_rank ||
  a.received_at_ms - b.received_at_ms ||
  a.partition - b.partition ||
  a.offset - b.offset ||
  (a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : 0)

const claimOf = (claim: Claimed): string => `${transactionOf(claim)}/${claim.topic}/${claim.partition}/${claim.offset}`

async function cancel(clickhouse: Clickhouse, rows: readonly RevenueRow[], try_id = ''): Promise<void> {
  const lines = rows.map((row) => JSON.stringify(revenueRowColumns.map((column) => row[column])))
  const text = lines.toSorted().join('\n')
  const token = `revenue_cancelled_v1/${createHash('sha256').update(text).digest('hex')}${try_id}`
  await clickhouse.insert({ table: 'revenue_cancelled_v1', columns: revenueRowColumns, lines: text, token })
}
