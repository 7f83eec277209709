import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { keySet, textLiterals } from '@tributary/clickhouse/literals'
import { type TransactionClaim, type TransactionLookup, transactionOf } from '@tributary/domain/money/claims'

/** Look-ups of one statement: 40 000 keys and as many apps stay below `statement_bytes_max`. */
const lookups_max = 40_000

/** The columns of a claim in `transaction_keys_v1` and `erased_claims_v1`. */
export const claimColumns = [
  ...(['app_id', 'transaction_key', 'day', 'claim_rank', 'received_at_ms'] as const),
  ...(['topic', 'partition', 'offset'] as const),
] as const

/**
 * All claims on these transactions that `transaction_keys_v1` and `erased_claims_v1` hold, in no certain order; one that is
 * being erased may be there twice. Throws a TypeError for a key that is no number.
 */
export async function findTransactionClaims(
  clickhouse: Pick<Clickhouse, 'query'>,
  lookups: readonly TransactionLookup[],
): Promise<TransactionClaim[]> {
  // The erased ones last: a claim that moves there meanwhile is seen in at least one of both.
  const held = await selectTransactions<TransactionClaim>(clickhouse, lookups, 'transaction_keys_v1', claimColumns)
  const erased = await selectTransactions<TransactionClaim>(clickhouse, lookups, 'erased_claims_v1', claimColumns)
  return [...held, ...erased]
}

/** Rows of a table by their transactions, and by their day when `days` are given: 64-bit keys and days are text. */
export async function selectTransactions<Row extends TransactionLookup>(
  clickhouse: Pick<Clickhouse, 'query'>,
  lookups: readonly TransactionLookup[],
  table: string,
  columns: readonly (keyof Row & string)[],
  days?: ReadonlySet<string>,
): Promise<Row[]> {
  const values = columns.map((name) => (textColumns.has(name) ? `toString(t.${name}) AS ${name}` : name))
  const onDays = days === undefined ? '' : `AND t.day IN (${textLiterals(days)})`
  const rows: Row[] = []
  for (let at = 0; at < lookups.length; at += lookups_max) {
    const some = oneOf(lookups.slice(at, at + lookups_max))
    rows.push(...(await clickhouse.query<Row>(`SELECT ${values} FROM ${table} AS t WHERE ${some} ${onDays}`)))
  }
  // Two independent sets match more than was asked: a key of another asked app.
  const asked = new Set(lookups.map(transactionOf))
  return rows.filter((row) => asked.has(transactionOf(row)))
}

const textColumns: ReadonlySet<string> = new Set(['transaction_key', 'event_key', 'day'])

const oneOf = (lookups: readonly TransactionLookup[]): string =>
  `t.app_id IN (${textLiterals(lookups.map(({ app_id }) => app_id))})
   AND t.transaction_key IN ${keySet(lookups.map(({ transaction_key }) => transaction_key))}`
