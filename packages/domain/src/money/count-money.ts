import { noTransaction } from '../event-key.ts'
import { byRank, type TransactionClaim, type TransactionLookup, transactionOf } from './claims.ts'

/** What decides whether the money of a row counts; `transaction_key` is '0' without money or transaction. */
export type MoneyKey = Pick<TransactionClaim, 'app_id' | 'transaction_key' | 'claim_rank' | 'received_at_ms'>

/** The transactions of the rows. */
export const transactionsToLookUp = (rows: readonly MoneyKey[]): TransactionLookup[] =>
  rows.filter(({ transaction_key }) => transaction_key !== noTransaction)

/** What came of a batch. */
export interface CountedMoney<Row> {
  /** All rows in their order; the money of those whose transaction has a better claim before them does not count. */
  rows: Row[]
  /** Transactions that several events have the money of now: all but the best of them must be cancelled. */
  contested: TransactionLookup[]
}

/**
 * Marks the rows whose money can never count, because a claim before them in their partition is at least as good
 * (docs/decisions/money.md#claims-on-a-transaction-have-ranks). All others get their money, also where they beat an earlier claim: that one
 * is cancelled apart. Only what earlier batches of this very partition wrote decides, because that never changes: a batch that comes again
 * must make the same rows. Claims of other partitions may appear between two tries, so they decide nothing here.
 */
export function countMoney<Row extends MoneyKey & { revenue_counts: 0 | 1 }>(
  rows: readonly Row[],
  claims: readonly TransactionClaim[],
  range: { topic: string; partition: number; from: number },
): CountedMoney<Row> {
  const best = new Map<string, MoneyKey>()
  const elsewhere = new Set<string>()
  for (const claim of claims) {
    const here = claim.topic === range.topic && claim.partition === range.partition
    const transaction = transactionOf(claim)
    if (!here) elsewhere.add(transaction)
    else if (claim.offset < range.from && beats(claim, best.get(transaction))) best.set(transaction, claim)
  }
  const contested: TransactionLookup[] = []
  const marked = rows.map((row) => {
    if (row.transaction_key === noTransaction) return row
    const transaction = transactionOf(row)
    const other = best.get(transaction)
    if (!beats(row, other)) return { ...row, revenue_counts: 0 as const }
    best.set(transaction, row)
    if (other !== undefined || elsewhere.has(transaction)) contested.push(row)
    return row
  })
  return { rows: marked, contested }
}

/** Whether a claim beats one before it in the log, which wins when both are equal. */
const beats = (claim: MoneyKey, earlier: MoneyKey | undefined): boolean =>
  earlier === undefined || byRank(claim, earlier) < 0
