import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { day_ms } from '@tributary/contracts/limits'

/** Store id of the app that has half of all postbacks; a hundred others share the rest. */
export const big_item = 5_000_000_000

const block_rows = 1_000_000

/**
 * Adds valid postbacks until so many are stored, newest first: `stored_max` of them fill the last year. A report of the last days
 * therefore counts the same ones from a tenth of `stored_max` on, while those behind them grow.
 */
export async function prefillPostbacks(clickhouse: Clickhouse, stored: number, stored_max: number): Promise<void> {
  const [held] = await clickhouse.query<{ rows: number }>('SELECT count() AS rows FROM postbacks_decoded_v1')
  for (let at = held!.rows; at < stored; at += block_rows) {
    const step_ms = (365 * day_ms) / stored_max
    await clickhouse.command(prefillSql(at, Math.min(block_rows, stored - at), Date.now(), step_ms))
  }
}

const prefillSql = (from: number, count: number, until_ms: number, step_ms: number) => `
INSERT INTO postbacks_decoded_v1 (advertised_item_id, day, received_at_ms, protocol, verdict, reason, environment, key, version,
  network, postback_id, sequence_index, publisher_item_id, source, redownload, re_engagement, did_win, fidelity_type, fine,
  coarse, country, judged_at_ms, judged_by, moved, topic, partition, offset)
SELECT if(number % 2 = 0, ${big_item}, ${big_item} + 1 + cityHash64(number) % 100),
  toDate(fromUnixTimestamp64Milli(ms, 'UTC')), toInt64(${until_ms} - number * ${step_ms}) AS ms,
  'skan', 'valid', 'verified', 'production', 'skan-p256', '4.0', concat('n', toString(cityHash64(number, 2) % 5), '.skadnetwork'),
  toString(generateUUIDv4(number)), 0, 77, toString(cityHash64(number, 3) % 10), 0, 0, 1, 1, cityHash64(number, 4) % 8,
  NULL, NULL, ms, 'bench', 0, 'bench@1', 0, number
FROM numbers(${from}, ${count})
SETTINGS max_partitions_per_insert_block = 0, max_memory_usage = 1000000000`
