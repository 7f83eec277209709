import type { StampStore } from '@tributary/service-kit/consumer/stamps'
import type { Resource } from '@tributary/service-kit/resources/resource'
import type { Pool } from 'pg'

/** Stamps over PostgreSQL. */
export const stampsResource: Resource<StampStore, never, never, { postgres: Pool }> = {
  settings: [],
  required: [],
  on: ['postgres'],
  open: async (_config, _service, { postgres }) => postgresStamps(postgres),
}

/** The clock of PostgreSQL, Unix epoch ms. It is the only one that decides on stamps, and it may step back. */
export const clock_ms = `floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

/**
 * SQL of a stamp above all that was sealed. The shared lock holds until the stamp is visible: `sealRaw` waits for it, and
 * what it seals is therefore below each stamp that it does not see.
 */
export const now_ms_above_seal = `SELECT greatest(${clock_ms}, sealed_ms + 1) AS now_ms FROM raw_clock FOR SHARE`

const pinSql = `
  WITH clock AS (${now_ms_above_seal})
  INSERT INTO raw_stamps AS known (consumer, topic, partition, newest_ms, open_ms)
  SELECT $1, $2, $3, greatest(now_ms, $4::bigint + 1), ARRAY[greatest(now_ms, $4::bigint + 1)] FROM clock
  ON CONFLICT (consumer, topic, partition) DO UPDATE SET
    newest_ms = greatest(excluded.newest_ms, known.newest_ms + 1),
    open_ms = ARRAY(SELECT one FROM unnest(known.open_ms) AS one WHERE one > $4::bigint)
      || greatest(excluded.newest_ms, known.newest_ms + 1)
  RETURNING newest_ms`

const endSql = `
  UPDATE raw_stamps SET open_ms = ARRAY(SELECT one FROM unnest(open_ms) AS one WHERE one > $4::bigint)
  WHERE consumer = $1 AND topic = $2 AND partition = $3 AND open_ms <> '{}'`

const openSql = `
  SELECT partition, (SELECT max(one) FROM unnest(open_ms) AS one) AS newest_ms FROM raw_stamps
  WHERE consumer = $1 AND topic = $2 AND open_ms <> '{}'`

/** One statement each, so nothing is left half-done (docs/raw.md#time-of-storing). */
export function postgresStamps(pool: Pool): StampStore {
  return {
    async pin({ consumer, topic, partition }, done_ms) {
      const values = [consumer, topic, partition, done_ms]
      const { rows } = await pool.query<{ newest_ms: string }>({ name: 'pin_stamp', text: pinSql, values })
      return Number(rows[0]!.newest_ms)
    },
    async end({ consumer, topic, partition }, stamp_ms) {
      await pool.query({ name: 'end_stamp', text: endSql, values: [consumer, topic, partition, stamp_ms] })
    },
    async findOpen(consumer, topic) {
      const values = [consumer, topic]
      type Row = { partition: number; newest_ms: string }
      const { rows } = await pool.query<Row>({ name: 'open_stamps', text: openSql, values })
      return rows.map(({ partition, newest_ms }) => ({ partition, newest_ms: Number(newest_ms) }))
    },
    startEpoch: () => startRawEpoch(pool),
  }
}

/** Readers of raw rows have to read all again from now on. */
export async function startRawEpoch(pool: Pool): Promise<void> {
  await pool.query('UPDATE raw_clock SET epoch = gen_random_uuid()')
}
