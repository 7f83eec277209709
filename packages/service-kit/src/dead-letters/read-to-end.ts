import { randomUUID } from 'node:crypto'
import type { Broker, LogRecord } from '@tributary/broker/broker'
import { CodedError } from '@tributary/contracts/errors'

export type ReadableLog = Pick<Broker, 'consume' | 'groupOffsets'>

/** A log that gives nothing for this long is away. Above the time that Kafka takes to let a new group begin. */
const silence_ms_max = 20_000
const chunk_bytes_max = 4 * 1024 * 1024

/**
 * Hands over every record that a topic holds at the beginning of the call, in order within a partition. A record may be
 * handed over twice. Rejects when `visit` does, and with `unavailable` when the log gives nothing for long.
 */
export async function readToEnd(
  log: ReadableLog,
  topic: string,
  visit: (records: readonly LogRecord[]) => Promise<void>,
): Promise<void> {
  // A group of its own that commits nothing: it begins at the first record, and the log forgets it.
  const group = `dead-letters-${randomUUID()}`
  const ranges = (await log.groupOffsets(group, topic)).filter(({ earliest, end }) => earliest < end)
  const unread = new Map(ranges.map(({ partition, end }) => [partition, end]))
  if (unread.size === 0) return
  const { promise: over, resolve, reject } = Promise.withResolvers<void>()
  const message = `The log did not give ${topic} to its end.`
  const silence = setTimeout(() => reject(new CodedError('unavailable', { message })), silence_ms_max)
  const consumption = await log.consume({
    ...{ group, topic, bytes_min: 1, bytes_max: chunk_bytes_max, wait_ms_max: 100 },
    async onChunk({ partition, records }) {
      const end = unread.get(partition)
      if (end === undefined) return
      silence.refresh()
      try {
        await visit(records.filter(({ offset }) => offset < end))
      } catch (error) {
        unread.clear()
        return reject(error)
      }
      if ((records.at(-1)?.offset ?? 0) + 1 >= end) unread.delete(partition)
      if (unread.size === 0) resolve()
    },
  })
  try {
    await over
  } finally {
    clearTimeout(silence)
    await consumption.close()
  }
}

/** The log did not do it; what it did stands, and the next call goes on behind it. */
export function throwLogAway(cause: unknown): never {
  if (cause instanceof CodedError) throw cause
  throw new CodedError('unavailable', { message: 'The log is away.', cause })
}
