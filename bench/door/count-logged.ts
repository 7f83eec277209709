import { randomUUID } from 'node:crypto'
import type { Broker } from '@tributary/broker/broker'
import { decodeEnvelope } from '@tributary/contracts/decode-envelope'

/** Counts, when asked, the events that came into the topic since now: as a consumer of its own that reads them all. */
export async function startCount(log: Broker, topic: string): Promise<() => Promise<number>> {
  const group = `bench-${randomUUID()}`
  const before = await log.groupOffsets(group, topic)
  await log.moveGroup(
    group,
    topic,
    before.map(({ partition, end }) => ({ partition, offset: end })),
  )
  return () => countLogged(log, topic, group)
}

async function countLogged(log: Broker, topic: string, group: string): Promise<number> {
  const offsets = await log.groupOffsets(group, topic)
  const open = new Map(
    offsets.filter(({ end, committed }) => end > (committed ?? 0)).map(({ partition, end }) => [partition, end]),
  )
  const done = Promise.withResolvers<void>()
  let events = 0
  if (open.size === 0) done.resolve()
  const consumption = await log.consume({
    ...{ group, topic, bytes_min: 1, bytes_max: 8 * 1024 * 1024, wait_ms_max: 100 },
    async onChunk({ partition, records }) {
      for (const { value } of records) events += decodeEnvelope(value).events.length
      if (records.at(-1)!.offset + 1 >= (open.get(partition) ?? 0)) open.delete(partition)
      if (open.size === 0) done.resolve()
    },
  })
  await done.promise
  await consumption.close()
  return events
}
