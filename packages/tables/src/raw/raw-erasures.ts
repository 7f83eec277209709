import { textLiteral } from '@tributary/clickhouse/literals'
import { day_ms, limits } from '@tributary/contracts/limits'
import type { Pool, PoolClient } from 'pg'
import type { RawWindow } from './raw-sql.ts'
import { stampTransaction } from './seal.ts'
import { clock_ms } from './stamps.ts'

/** An install whose rows up to a mark are erased, or one of its clicks; the id of the other is empty. */
export interface ErasedThing {
  install_uuid: string
  click_id: string
  erased_up_to_ms: number
}

/** Notes erased installs and clicks for readers of raw rows, in the transaction that ends the erasure. */
export async function noteRawErasures(
  client: PoolClient,
  app_id: string,
  erased: readonly ErasedThing[],
): Promise<void> {
  if (erased.length === 0) return
  await client.query(
    `INSERT INTO raw_erasures (app_id, stored_at_ms, install_uuid, click_id, erased_up_to_ms)
     SELECT $1, $2, * FROM unnest($3::text[], $4::text[], $5::bigint[])`,
    [
      ...[app_id, await stampTransaction(client)],
      ...[erased.map((one) => one.install_uuid), erased.map((one) => one.click_id)],
      erased.map((one) => one.erased_up_to_ms),
    ],
  )
}

/**
 * Removes rows that readers had `raw_erasures_kept_days` to read: no id of an erased install or click stays for ever. The
 * clock that stamped them decides. By that of a process, one that is ahead for a moment would let erased people stay in all copies.
 */
export async function forgetRawErasures(pool: Pool): Promise<void> {
  const kept_ms = limits.raw_erasures_kept_days * day_ms
  await pool.query(`DELETE FROM raw_erasures WHERE stored_at_ms < ${clock_ms} - $1::bigint`, [kept_ms])
}

/** SQL of ClickHouse that gives the erasures of a window, and the end of the window: an earlier one where they are too many. */
export async function rawErasuresSql(pool: Pool, window: RawWindow): Promise<{ sql: string; until_ms: number }> {
  const until_ms = await endOf(pool, window)
  const { app_id, since_ms } = window
  const { rows } = await pool.query<ErasedThing & { stored_at_ms: string }>(
    `SELECT stored_at_ms, install_uuid, click_id, erased_up_to_ms FROM raw_erasures
     WHERE app_id = $1 AND stored_at_ms >= $2 AND stored_at_ms < $3`,
    [app_id, since_ms, until_ms],
  )
  const lines = rows.map((row) => [
    Number(row.stored_at_ms),
    row.install_uuid,
    row.click_id,
    Number(row.erased_up_to_ms),
  ])
  const type = 'Array(Tuple(Int64, String, String, Int64))'
  const sql = `SELECT row.1 AS stored_at_ms, ${textLiteral(app_id)} AS app_id, row.2 AS install_uuid, row.3 AS click_id,
      row.4 AS erased_up_to_ms
    FROM (SELECT arrayJoin(JSONExtract(${textLiteral(JSON.stringify(lines))}, ${textLiteral(type)})) AS row)`
  return { sql, until_ms }
}

/** The end of a window with at most `raw_erasures_max` rows; rows of one time stay together, however many they are. */
async function endOf(pool: Pool, { app_id, since_ms, until_ms }: RawWindow): Promise<number> {
  const { rows } = await pool.query<{ stored_at_ms: string }>(
    `SELECT stored_at_ms FROM raw_erasures WHERE app_id = $1 AND stored_at_ms >= $2 AND stored_at_ms < $3
     ORDER BY stored_at_ms OFFSET $4 LIMIT 1`,
    [app_id, since_ms, until_ms, limits.raw_erasures_max],
  )
  if (rows.length === 0) return until_ms
  const beyond_ms = Number(rows[0]!.stored_at_ms)
  const { rows: before } = await pool.query(
    'SELECT 1 FROM raw_erasures WHERE app_id = $1 AND stored_at_ms >= $2 AND stored_at_ms < $3 LIMIT 1',
    [app_id, since_ms, beyond_ms],
  )
  return before.length > 0 ? beyond_ms : beyond_ms + 1
}
