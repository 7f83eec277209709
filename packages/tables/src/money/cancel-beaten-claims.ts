import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { copySettings } from '@tributary/clickhouse/insert-settings'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { settingsSql } from '@tributary/clickhouse/settings-sql'
import { revenueRowColumns } from '@tributary/contracts/rows'
import {
  beatenClaims,
  type TransactionClaim,
  type TransactionLookup,
  transactionOf,
} from '@tributary/domain/money/claims'
import { findTransactionClaims, selectTransactions } from './transaction-keys.ts'

/** Columns that name a claim and its money. */
const placeColumns = ['app_id', 'transaction_key', 'day', 'topic', 'partition', 'offset'] as const
type Claimed = Pick<TransactionClaim, (typeof placeColumns)[number]>

/** Rows of one statement, whose text stays below a MiB. */
const cancelled_rows_max = 5000

/**
 * Cancels the money of all but the best claim on each of the transactions, and returns how many it cancelled
 * (docs/decisions/money.md#claims-on-a-transaction-have-ranks). May be called at any time, by any number of processes:
 * `revenue_cancelled_v1` is a set, and a claim that a better one beats is beaten for ever. With `again`, rows that are there are put in
 * once more: after a crash in the midst of an insert the stamps of their days may lack them
 * (docs/decisions/reports.md#settled-figures-carry-a-version).
 */
export async function cancelBeatenClaims(
  clickhouse: Clickhouse,
  lookups: readonly TransactionLookup[],
  { again = false } = {},
): Promise<number> {
  const beaten = beatenClaims(await findTransactionClaims(clickhouse, lookups))
  if (beaten.length === 0) return 0
  // These tables have no order by transaction: the days bound what is read.
  const days = new Set(beaten.map(({ day }) => day))
  const find = (claims: readonly TransactionClaim[], table: string) =>
    selectTransactions<TransactionClaim>(clickhouse, claims, table, placeColumns, days)
  const done = new Set((await find(beaten, 'revenue_cancelled_v1')).map(claimOf))
  const open = beaten.filter((claim) => again || !done.has(claimOf(claim)))
  if (open.length === 0) return 0
  const wanted = new Set(open.map(claimOf))
  // A claim has its money there, unless its install was erased.
  const found = (await find(open, 'revenue_raw_v1')).filter((row) => wanted.has(claimOf(row)))
  for (const [app_id, rows] of Map.groupBy(found, (row) => row.app_id)) await cancel(clickhouse, app_id, rows)
  return found.filter((row) => !done.has(claimOf(row))).length
}

const claimOf = (claim: Claimed): string => `${transactionOf(claim)}/${claim.topic}/${claim.partition}/${claim.offset}`

/** Begin of the names of the statements that copy money or receipts of an app (`isInserting`). */
export const copyingOf = (app_id: string): string => `copy/${app_id}/`

/**
 * The engine copies the money that is there at this moment, and never what this process has read before: it may have slept
 * since, while the install was erased (docs/decisions/money.md#the-engine-copies-cancelled-money). No token: a row that is put in twice is
 * one row.
 */
async function cancel(clickhouse: Clickhouse, app_id: string, rows: readonly Claimed[]): Promise<void> {
  const columns = revenueRowColumns.join(', ')
  for (let at = 0; at < rows.length; at += cancelled_rows_max) {
    const some = rows.slice(at, at + cancelled_rows_max)
    const names = some.map(
      ({ transaction_key, topic, partition, offset }) =>
        `(${BigInt(transaction_key)}, ${textLiteral(topic)}, ${Number(partition)}, ${Number(offset)})`,
    )
    await clickhouse.command(
      `INSERT INTO revenue_cancelled_v1 (${columns}) SELECT ${columns} FROM revenue_raw_v1
       WHERE app_id = ${textLiteral(app_id)} AND day IN (${textLiterals(some.map(({ day }) => day))})
         AND (transaction_key, topic, partition, offset) IN (${names.join(', ')})
       SETTINGS ${settingsSql(copySettings)}`,
      { name: copyingOf(app_id) },
    )
  }
}
