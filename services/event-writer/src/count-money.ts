import { type TransactionAsk, type TransactionClaim, transactionOf } from '@tributary/clickhouse/transaction-keys'
import { noTransaction } from '@tributary/domain/event-key'

/** What tells whether the money of a row is a duplicate; `transaction_key` is '0' without money or transaction. */
export type MoneyKey = TransactionAsk

/** The transactions of the rows. */
export const transactionsToAsk = (rows: readonly MoneyKey[]): TransactionAsk[] =>
  rows.filter(({ transaction_key }) => transaction_key !== noTransaction)

/** What came of a batch. */
export interface CountedMoney<Row> {
  /** All rows in their order; those whose transaction was counted before went through `withoutMoney`. */
  rows: Row[]
  /** Transactions counted here that an event of another partition has counted too. */
  contested: TransactionAsk[]
}

/**
 * Counts each transaction once among the events of a partition: the first one in the log has its money (decisions.md
 * "Money once"). Only what earlier batches of this very partition wrote decides, because that never changes: a batch
 * that comes again must make the same rows. Claims of other partitions may appear between two tries; they are told as
 * `contested`, and settled apart.
 */
export function countMoney<Row extends MoneyKey>(
  rows: readonly Row[],
  claims: readonly TransactionClaim[],
  range: { topic: string; partition: number; from: number },
  withoutMoney: (row: Row) => Row,
): CountedMoney<Row> {
  const counted = new Set<string>()
  const elsewhere = new Set<string>()
  for (const claim of claims) {
    const here = claim.topic === range.topic && claim.partition === range.partition
    if (!here) elsewhere.add(transactionOf(claim))
    else if (claim.offset < range.from) counted.add(transactionOf(claim))
  }
  const contested: TransactionAsk[] = []
  const marked = rows.map((row) => {
    if (row.transaction_key === noTransaction) return row
    const transaction = transactionOf(row)
    if (counted.has(transaction)) return withoutMoney(row)
    counted.add(transaction)
    if (elsewhere.has(transaction)) contested.push(row)
    return row
  })
  return { rows: marked, contested }
}
