import { hash } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiterals } from '@tributary/clickhouse/literals'
import type { PostbackReceived } from '@tributary/contracts/postback/received'
import { utcDay } from '@tributary/domain/utc-day'
import type { Pause } from '@tributary/service-kit/service/pauses'

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
  const days = [...new Set(postbacks.map(({ received_at_ms }) => utcDay(received_at_ms)))]
  const keys = [...new Set(postbacks.map(({ audit_key }) => audit_key))]
  if (keys.length === 0) return []
  const stored = await clickhouse.query<{ identity: string }>(
    `SELECT concat(audit_key, ' ', toString(received_at_ms), ' ', lower(hex(SHA256(body)))) AS identity
     FROM postbacks_raw_v1
     WHERE day IN (${textLiterals(days)}) AND audit_key IN (${textLiterals(keys)})`,
  )
  for (const { identity } of stored) missing.delete(identity)
  return [...missing.values()]
}
