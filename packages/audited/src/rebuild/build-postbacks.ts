import type { AuditStore } from '@tributary/audit-store/audit-store'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { PostbackReceived } from '@tributary/contracts/postback/received'
import { createPauses } from '@tributary/service-kit/service/pauses'
import { judgeAll } from '@tributary/tables/postbacks/judge-received'
import { decodedColumns, decodedLine, rawColumns, rawLine } from '@tributary/tables/postbacks/postback-rows'
import type { KnownKeys } from '@tributary/tenancy/postbacks/postback-keys'
import { findMissingPostbacks, findPostbackPlaces, postbackIdentity } from '../missing-postbacks.ts'
import { readPostbacks } from '../read-postbacks.ts'
import type { Reading } from '../reading.ts'
import { insertInto } from './scratch.ts'

export interface BuildPostbacksDeps {
  live: Pick<Clickhouse, 'query'>
  scratch: Clickhouse
  audit: Pick<AuditStore, 'list'>
  postbackKeys: Pick<KnownKeys, 'current'>
  /** Name of the log of postbacks that the live tables do not have. */
  source: string
  reading: Reading
  signal: AbortSignal
}

/** Postbacks of one insert, and their objects: the names of so many fit into a statement. */
const insert_postbacks = 5000
const objects_together = 1000

/**
 * Fills `postbacks_raw_v1` and `postbacks_decoded_v1` of the scratch database from the audit store, judged with the keys of today. A
 * postback keeps the position that the live table has for it. Those that are there already, of a rebuild that was killed, are left out.
 */
export async function buildPostbacks(deps: BuildPostbacksDeps): Promise<void> {
  const { live, scratch, audit, postbackKeys, source, reading, signal } = deps
  const pause = createPauses()
  let next = 0
  let waiting: PostbackReceived[] = []
  let objects = 0

  async function write() {
    signal.throwIfAborted()
    const fresh = await findMissingPostbacks(scratch, waiting, pause)
    waiting = []
    objects = 0
    if (fresh.length === 0) return
    const known = await findPostbackPlaces(live, fresh)
    const keys = postbackKeys.current()
    const judged = await judgeAll(fresh, keys)
    const placed = fresh.map((received, n) => {
      const place = known.get(postbackIdentity(received)) ?? { topic: source, partition: 0, offset: next++ }
      return { received, judged: judged[n]!, place }
    })
    // Judgements first: a postback whose row is there is left out when a killed rebuild goes on.
    const decoded = placed.map(({ received: { received_at_ms }, ...one }) =>
      decodedLine({ ...one, received_at_ms, judged_at_ms: received_at_ms, judged_by: keys.fingerprint }),
    )
    await insertInto(scratch, 'postbacks_decoded_v1', decodedColumns, decoded)
    const raw = placed.map(({ received, place }) => rawLine(received, place))
    await insertInto(scratch, 'postbacks_raw_v1', rawColumns, raw)
  }

  for await (const postbacks of readPostbacks({ audit, first_day: '', reading, pause })) {
    waiting.push(...postbacks)
    objects += 1
    if (waiting.length >= insert_postbacks || objects >= objects_together) await write()
  }
  await write()
}
