import { noTransaction } from '../event-key.ts'
import { byRank, type TransactionClaim, type TransactionLookup, transactionOf } from './claims.ts'

/** The facts that decide whether the money of a row counts; `transaction_key` is '0' without money or transaction. */
export type MoneyKey = Pick<TransactionClaim, 'app_id' | 'transaction_key' | 'claim_rank' | 'received_at_ms'>

/** The transactions of the rows. */
export const transactionsToLookUp = (rows: readonly MoneyKey[]): TransactionLookup[] =>
  rows.filter(({ transaction_key }) => transaction_key !== noTransaction)

/** The result for a batch. */
export interface CountedMoney<Row> {
  /** All rows in their order; the money of those whose transaction has a better claim before them does not count. */
  rows: Row[]
  /** Transactions whose money several events have now: all events but the best must be cancelled. */
  contested: TransactionLookup[]
}

/**
 * Marks the rows whose money can never count, because a claim before them in their partition is at least as good
 * (docs/decisions/money.md#claims-on-a-transaction-have-ranks). All other rows get their money, even if they beat an
 * earlier claim: that claim is cancelled apart. Only claims of earlier batches of this partition decide, because they
 * never change, and a batch that comes again must make the same rows. Claims of other partitions may appear between two
 * tries, so they decide nothing here.
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

/** Whether a claim beats an earlier one in the log. The earlier one wins if both are equal. */
const beats = (claim: MoneyKey, earlier: MoneyKey | undefined): boolean =>
  earlier === undefined || byRank(claim, earlier) < 0
