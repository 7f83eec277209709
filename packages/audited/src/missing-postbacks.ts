import { hash } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import { day_ms } from '@tributary/contracts/limits'
import type { PostbackReceived } from '@tributary/contracts/postback/received'
import { utcDay } from '@tributary/domain/utc-day'
import type { Pause } from '@tributary/service-kit/service/pauses'
import type { PostbackPlace } from '@tributary/tables/postbacks/postback-rows'

/** The same bytes of the same millisecond in one object are one postback. */
export const postbackIdentity = ({ audit_key, received_at_ms, body }: PostbackReceived): string =>
  `${audit_key} ${received_at_ms} ${hash('sha256', body)}`

/** Those postbacks that `postbacks_raw_v1` lacks, each once. */
export async function findMissingPostbacks(
  clickhouse: Pick<Clickhouse, 'query'>,
  postbacks: readonly PostbackReceived[],
  pause: Pause,
): Promise<PostbackReceived[]> {
  const missing = new Map<string, PostbackReceived>()
  for (const postback of postbacks) {
    await pause()
    missing.set(postbackIdentity(postback), postback)
  }
  for (const identity of (await findPostbackPlaces(clickhouse, postbacks)).keys()) missing.delete(identity)
  return [...missing.values()]
}

/** Within so many days before or after a postback the same bytes are sent again: Apple gives up after nine. */
const resent_days = 10

/**
 * Those of some missing postbacks whose bytes `postbacks_raw_v1` has from no other object either; it reads all postbacks of these days. A
 * gateway that died before it published a postback leaves an object without a row. Whoever sent it got no answer, and sends it again.
 */
export async function withoutSentAgain(
  clickhouse: Pick<Clickhouse, 'query'>,
  missing: readonly PostbackReceived[],
): Promise<PostbackReceived[]> {
  if (missing.length === 0) return []
  const bytesOf = ({ protocol, body }: PostbackReceived) => `${protocol} ${hash('sha256', body)}`
  const times = missing.map(({ received_at_ms }) => received_at_ms)
  const first = utcDay(Math.min(...times) - resent_days * day_ms)
  const last = utcDay(Math.max(...times) + resent_days * day_ms)
  const stored = await clickhouse.query<{ bytes: string }>(
    `SELECT DISTINCT concat(protocol, ' ', lower(hex(SHA256(body)))) AS bytes FROM postbacks_raw_v1
     WHERE day BETWEEN ${textLiteral(first)} AND ${textLiteral(last)} AND bytes IN (${textLiterals(missing.map(bytesOf))})`,
  )
  const known = new Set(stored.map(({ bytes }) => bytes))
  return missing.filter((one) => !known.has(bytesOf(one)))
}

/** Where `postbacks_raw_v1` has some of these postbacks, by `postbackIdentity`; the first position of one that is there twice. */
export async function findPostbackPlaces(
  clickhouse: Pick<Clickhouse, 'query'>,
  postbacks: readonly PostbackReceived[],
): Promise<Map<string, PostbackPlace>> {
  const days = [...new Set(postbacks.map(({ received_at_ms }) => utcDay(received_at_ms)))]
  const keys = [...new Set(postbacks.map(({ audit_key }) => audit_key))]
  if (keys.length === 0) return new Map()
  const stored = await clickhouse.query<PostbackPlace & { identity: string }>(
    `SELECT concat(audit_key, ' ', toString(received_at_ms), ' ', lower(hex(SHA256(body)))) AS identity,
       min((p.topic, p.partition, p.offset)) AS place, place.1 AS topic, place.2 AS partition, place.3 AS offset
     FROM postbacks_raw_v1 AS p
     WHERE day IN (${textLiterals(days)}) AND audit_key IN (${textLiterals(keys)}) GROUP BY identity`,
  )
  return new Map(stored.map(({ identity, topic, partition, offset }) => [identity, { topic, partition, offset }]))
}
