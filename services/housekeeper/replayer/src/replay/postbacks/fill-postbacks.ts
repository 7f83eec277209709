import { findMissingPostbacks } from '@tributary/audited/missing-postbacks'
import { readPostbacks } from '@tributary/audited/read-postbacks'
import { audit_group_ms_max } from '@tributary/audited/reading'
import { untilWritten } from '@tributary/audited/until-written'
import type { OutgoingRecord } from '@tributary/broker/broker'
import { postbackPartition } from '@tributary/broker/partition'
import { consumers } from '@tributary/contracts/consumers'
import type { PostbackReceived } from '@tributary/contracts/postback/received'
import { topics } from '@tributary/contracts/topics'
import { readPostback } from '@tributary/domain/postback/read-postback'
import { utcDay } from '@tributary/domain/utc-day'
import type { Pause } from '@tributary/service-kit/service/pauses'
import type { FillAuditedDeps } from '../fill-clicks.ts'
import type { Tally } from '../tally.ts'

interface Chosen {
  since_ms: number
  dry_run: boolean
  tally: Tally
  signal: AbortSignal
  pause: Pause
}

/** Bounds of one look-up: the names of so many objects fit into a statement, and their postbacks into memory. */
const objects_together = 1000
const bytes_together = 8 * 1024 * 1024

/**
 * Puts postbacks of the audit store that `postbacks_raw_v1` lacks into the log again, where postback-writer takes them like any
 * others: with their received time, so that the same one wins. Resolves when they are written.
 *
 * 1. Those received before the call are looked up. They may wait for the writer.
 * 2. It has written what the log held, and those that are still missing are published. A kill after this leaves postbacks that
 *    the next replay finds in the table, once the writer has written them.
 */
export async function fillPostbacks(deps: FillAuditedDeps, chosen: Chosen): Promise<void> {
  const { broker, clickhouse, audit, now } = deps
  const { since_ms, dry_run, tally, signal, pause } = chosen
  const until_ms = now()
  const partitions = await broker.partitionCount(topics.postbacksReceived.name)
  const written = () => untilWritten(broker, signal, consumers.postbackWriter)
  let waiting: PostbackReceived[] = []
  let objects = 0
  let bytes = 0

  async function fill() {
    signal.throwIfAborted()
    const suspects = await findMissingPostbacks(clickhouse, waiting, pause) // 1.
    waiting = []
    objects = 0
    bytes = 0
    if (suspects.length === 0) return
    await written()
    const missing = await findMissingPostbacks(clickhouse, suspects, pause) // 2.
    if (missing.length === 0) return
    tally.postbacks_filled = (tally.postbacks_filled ?? 0) + missing.length
    if (dry_run) return
    const records: OutgoingRecord[] = []
    for (const postback of missing) {
      await pause()
      records.push(recordOf(postback, partitions))
    }
    await broker.publish(records)
    await written()
  }

  const first_day = utcDay(since_ms - audit_group_ms_max)
  for await (const postbacks of readPostbacks({ audit, first_day, reading: tally, pause })) {
    const wanted = postbacks.filter(({ received_at_ms: at_ms }) => at_ms >= since_ms && at_ms < until_ms)
    waiting.push(...wanted)
    objects += 1
    bytes += wanted.reduce((sum, { body }) => sum + body.length, 0)
    if (objects >= objects_together || bytes >= bytes_together) await fill()
  }
  await fill()
}

function recordOf(postback: PostbackReceived, partitions: number) {
  const { key } = readPostback(postback.protocol, Buffer.from(postback.body))
  const value = Buffer.from(JSON.stringify(postback))
  return { topic: topics.postbacksReceived.name, partition: postbackPartition(key, partitions), key, value }
}
