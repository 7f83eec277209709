import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Broker, LogRecord } from '@tributary/broker/broker'
import { decodeEnvelope } from '@tributary/contracts/decode-envelope'
import { topics } from '@tributary/contracts/topics'
import { installOf } from '../verify-events.ts'

/** The mark of an erased install, Unix epoch ms, else null. */
type MarkOf = (app_id: string, install_uuid: string) => number | null

/**
 * Reads the topic of accepted events up to its present end, and returns the number of distinct events, those left out that
 * are dated up to the mark of their install.
 */
export async function countLoggedEvents(broker: Broker, markOf: MarkOf = () => null): Promise<number> {
  const topic = topics.eventsAccepted.name
  const group = `count-${randomUUID()}`
  const ranges = await retryWhileLoading(() => broker.groupOffsets(group, topic))
  const unread = new Map(
    ranges.filter(({ earliest, end }) => earliest < end).map(({ partition, end }) => [partition, end]),
  )
  const events = new Map<string, Set<string>>()
  const { promise, resolve } = Promise.withResolvers<void>()
  if (unread.size === 0) return 0
  const consumption = await broker.consume({
    ...{ group, topic, bytes_min: 1, bytes_max: 8 * 1024 * 1024, wait_ms_max: 100 },
    async onChunk({ partition, records }) {
      for (const record of records) remember(events, record, markOf)
      if ((records.at(-1)?.offset ?? -1) + 1 >= (unread.get(partition) ?? 0)) unread.delete(partition)
      if (unread.size === 0) resolve()
    },
  })
  await promise
  await consumption.close()
  return [...events.values()].reduce((sum, { size }) => sum + size, 0)
}

function remember(events: Map<string, Set<string>>, { value }: LogRecord, markOf: MarkOf): void {
  const envelope = decodeEnvelope(value)
  const install = installOf(envelope)
  const ids = events.get(install) ?? new Set()
  if (ids.size === 0) events.set(install, ids)
  const mark_ms = markOf(envelope.app_id, envelope.install_uuid) ?? 0
  for (const { event_id, event_ts_ms } of envelope.events)
    if (mark_ms === 0 || Number(event_ts_ms) > mark_ms) ids.add(String(event_id))
}

const patience_ms = 180_000

/** Retries for a moment, because a broker that just started is still loading its groups. */
async function retryWhileLoading<T>(request: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + patience_ms; ; await pause(100)) {
    try {
      return await request()
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
  }
}
