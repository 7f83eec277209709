import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { ReadEnvelope } from '@tributary/audited/missing-events'
import type { Broker, Chunk, LogRecord } from '@tributary/broker/broker'
import { decodeEnvelope } from '@tributary/contracts/decode-envelope'
import { topics } from '@tributary/contracts/topics'
import type { Pause } from '@tributary/service-kit/service/pauses'
import type { Tally } from './tally.ts'

interface ReadLogDeps {
  broker: Pick<Broker, 'consume' | 'groupOffsets'>
  since_ms: number
  app_id: string | undefined
  tally: Tally
  signal: AbortSignal
  pause: Pause
}

/** Offset of a partition to take next, and the one to stop at. */
interface Range {
  next: number
  end: number
}

/** Maximum chunk of a partition. Chunks are handled one at a time. */
const chunk_bytes_max = 2 * 1024 * 1024
const retention_check_ms = 2000

/**
 * Gives the accepted events of the log to `onRead`, those of a partition in their order, one call at a time: from its
 * earliest record to its end as it is now. Reads as a group of its own that never commits, so nothing stays behind.
 */
export async function readLog(deps: ReadLogDeps, onRead: (read: ReadEnvelope[]) => Promise<void>): Promise<void> {
  const { broker, tally } = deps
  const over = new AbortController()
  const signal = AbortSignal.any([deps.signal, over.signal])
  const topic = topics.eventsAccepted.name
  const group = `replay-${randomUUID()}`
  const offsets = await broker.groupOffsets(group, topic)
  const ranges = new Map(offsets.map(({ partition, earliest, end }) => [partition, { next: earliest, end }]))
  const total = offsets.reduce((sum, { earliest, end }) => sum + end - earliest, 0)
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => {})
  let turn = Promise.resolve()
  const reportProgress = () => {
    const read = total - leftOf(ranges)
    tally.reached(read, total, `${read} of ${total} records`)
  }

  reportProgress()

  async function take({ partition, records }: Chunk): Promise<void> {
    const range = ranges.get(partition)
    if (range === undefined || range.next >= range.end || signal.aborted) return
    // A reader that lost its place begins at the earliest record again.
    const fresh = records.filter(({ offset }) => offset >= range.next && offset < range.end)
    const read: ReadEnvelope[] = []
    for (const record of fresh) {
      await deps.pause()
      read.push(...envelopeOf(record, deps))
    }
    await onRead(read)
    range.next = Math.max(range.next, (records.at(-1)?.offset ?? 0) + 1)
    reportProgress()
  }

  const consumption = await broker.consume({
    ...{ group, topic, bytes_min: 1, bytes_max: chunk_bytes_max, wait_ms_max: 100 },
    onChunk(chunk) {
      turn = turn.then(() => take(chunk)).catch(failed.reject)
      return turn
    },
  })
  try {
    await Promise.race([failed.promise, untilRead(ranges, { ...deps, signal }, group)])
  } finally {
    over.abort()
    await consumption.close()
  }
}

const leftOf = (ranges: Map<number, Range>): number =>
  [...ranges.values()].reduce((sum, { next, end }) => sum + Math.max(0, end - next), 0)

/** Resolves too when retention takes what is not read yet, of which no chunk would say so. */
async function untilRead(ranges: Map<number, Range>, { broker, signal }: ReadLogDeps, group: string): Promise<void> {
  for (let checked_ms = performance.now(); leftOf(ranges) > 0; ) {
    await pause(50, undefined, { signal })
    if (performance.now() - checked_ms < retention_check_ms) continue
    checked_ms = performance.now()
    for (const { partition, earliest } of await broker.groupOffsets(group, topics.eventsAccepted.name)) {
      const range = ranges.get(partition)
      if (range !== undefined && earliest >= range.end) range.next = range.end
    }
  }
}

function envelopeOf({ timestamp_ms, key, value }: LogRecord, { since_ms, app_id, tally }: ReadLogDeps): ReadEnvelope[] {
  if (timestamp_ms < since_ms) return []
  if (app_id !== undefined && key !== null && !key.startsWith(`${app_id}/`)) return []
  try {
    const envelope = decodeEnvelope(value)
    return app_id === undefined || envelope.app_id === app_id ? [{ envelope }] : []
  } catch {
    tally.doubt('unreadable_record') // the dead-letter topic has it
    return []
  }
}
