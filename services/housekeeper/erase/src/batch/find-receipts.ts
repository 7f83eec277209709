import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { limits } from '@tributary/contracts/limits'
import type { ErasedInstall } from './batch.ts'
import { markSql, ofInstalls } from './sql.ts'

type Query = Pick<Clickhouse, 'query'>

/** The tables that receipt-validator fills by statements that copy rows of events, and the claims that these look among. */
export const receiptTableNames = [
  'transaction_claims_v1',
  'receipts_v1',
  'receipts_by_claim_v1',
  'revenue_chosen_v1',
] as const
type ReceiptTable = (typeof receiptTableNames)[number]

/** A row of one of them. */
interface ReceiptRow {
  install_uuid: string
  day: string
  event_key: string
  topic: string
  partition: number
  offset: number
  /** '0': it claims no transaction. */
  claim_key: string
}

export type ReceiptRows = Record<ReceiptTable, ReceiptRow[]>

const rows_max = limits.erasure_rows_max

/** Some rows of the installs that their marks cover, of each table; fewer than `erasure_rows_max` are all. */
export async function findReceiptRows(
  clickhouse: Query,
  app_id: string,
  installs: readonly ErasedInstall[],
): Promise<ReceiptRows> {
  const found = new Map<ReceiptTable, ReceiptRow[]>()
  for (const table of receiptTableNames) {
    const claim_key = table === 'revenue_chosen_v1' ? "'0'" : 'toString(t.claim_key)'
    const rows = await clickhouse.query<ReceiptRow>(
      `SELECT DISTINCT install_uuid, toString(t.day) AS day, toString(t.event_key) AS event_key, topic, partition, offset, ${claim_key} AS claim_key
       FROM ${table} AS t WHERE ${ofInstalls(app_id, installs)} AND dated_at_ms <= ${markSql(installs)}
       LIMIT ${rows_max}`,
    )
    found.set(table, rows)
  }
  return Object.fromEntries(found) as ReceiptRows
}

/**
 * The transactions that have the money of an event of these installs because a store confirmed it, by their claims: nobody inherits it. What
 * nobody confirmed closes none, since anybody may claim anything
 * (docs/decisions/erasure.md#erased-claims-stay).
 */
export async function findClosedClaims(
  clickhouse: Query,
  app_id: string,
  installs: readonly ErasedInstall[],
): Promise<string[]> {
  const covered = `${ofInstalls(app_id, installs)} AND dated_at_ms <= ${markSql(installs)}`
  const place = 'day, install_uuid, event_key, topic, partition, offset'
  const rows = await clickhouse.query<{ claim_key: string }>(
    `SELECT DISTINCT toString(c.claim_key) AS claim_key
     FROM (
       SELECT claim_key, ${place} FROM receipts_v1 FINAL
       WHERE ${covered} AND claim_key != 0 AND has_money = 1 AND verdict = 'valid'
     ) AS c
     LEFT JOIN (SELECT ${place}, counts, 1 AS chosen FROM revenue_chosen_v1 FINAL WHERE ${covered}) AS m USING (${place})
     WHERE m.chosen = 0 OR m.counts = 1`,
  )
  return rows.map(({ claim_key }) => claim_key)
}
