import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import { addDue } from '@tributary/tables/receipts/due-receipts'
import { type AppleAuthority, appleTransaction } from '@tributary/testing/stores/apple-authority'
import type { Pool } from 'pg'

export const bundle_id = 'com.example.run'
const day = '2026-06-01'
const topic = 'events.accepted.v1@bench'
const at_once = 2000

/** Written events with a signed transaction each, all of which are due. */
export async function addDrained(
  { pool, clickhouse, apple }: { pool: Pool; clickhouse: Clickhouse; apple: AppleAuthority },
  app_id: string,
  receipts: number,
): Promise<void> {
  await clickhouse.command(eventsSql(app_id, receipts))
  const keys = await clickhouse.query<{ offset: number; event_key: string }>(
    `SELECT toFloat64(offset) AS offset, toString(t.event_key) AS event_key FROM events_raw_v1 AS t WHERE app_id = ${textLiteral(app_id)}`,
  )
  for (let at = 0; at < keys.length; at += at_once) {
    const some = keys.slice(at, at + at_once).map(({ offset, event_key }) => ({
      ...{ app_id, install_uuid: `i-${Math.floor(offset / 3)}`, day, event_key, topic, partition: 0, offset },
      ...{ event_name: 'purchase', product_id: null, transaction_id: null, asks: null, dated_at_ms: 0 },
      receipt: { store: 'apple', jws: apple.sign(appleTransaction({ ...idsOf(offset), currency: 'USD' })) },
    }))
    await addDue(pool, some)
  }
}

const idsOf = (n: number) => ({ transactionId: `${2e12 + n}`, originalTransactionId: `${2e12 + n}` })

const eventsSql = (app_id: string, count: number) => `
INSERT INTO events_raw_v1 (app_id, company_id, day, install_uuid, ts_ms, event_name, event_id, event_key, key_day, revenue_micros,
  revenue_counts, currency, transaction_key, props, device, extra, platform, source, received_at_ms, topic, partition, offset)
SELECT ${textLiteral(app_id)}, 'co_bench', toDate('${day}') AS day, concat('i-', toString(intDiv(number, 3))),
  toUnixTimestamp(toDateTime('${day} 12:00:00', 'UTC')) * 1000 AS ms, 'purchase', concat('e-', toString(number)),
  cityHash64('bench', number) AS event_key, day, 4990000, 1, 'USD',
  bitXor(event_key, toUInt64(toUInt16(day)) * 11400714819323198485),
  concat('{"receipt":"', hex(SHA256(toString(number))), '"}'), '{}', '{}', 'ios', 'sdk', ms, '${topic}', 0, number
FROM numbers(${count})`

/** Receipts that were tried once and wait for Apple, of the size of signed transactions. */
export async function addWaiting(pool: Pool, app_id: string, receipts: number): Promise<void> {
  for (let at = 0; at < receipts; at += at_once) {
    await pool.query(
      `INSERT INTO due_receipts (app_id, install_uuid, day, event_key, topic, partition, "offset", event_name, receipt, asks, dated_at_ms,
       tried_from_ms, next_try_ms, tries, reason)
     SELECT $1, 'i-' || g, '${day}', g, '${topic}', 0, g, 'purchase',
       (SELECT string_agg(md5(g::text || n::text), '') FROM generate_series(1, 55) n), 'apple', 0,
       clock.ms - 1000, clock.ms - 1000, 1, 'store_away'
     FROM generate_series($2::int + 1, $3::int) g, (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms) clock`,
      [app_id, at, Math.min(at + at_once, receipts)],
    )
  }
}
