import { randomUUID } from 'node:crypto'
import type { Broker } from '@tributary/broker/broker'
import type { Envelope } from '@tributary/contracts/envelope'

/** Reads the whole topic as a consumer of its own would, and counts the events of the apps. */
export async function countLogged(log: Broker, topic: string, app_ids: ReadonlySet<string>): Promise<number> {
  const group = `bench-${randomUUID()}`
  const offsets = await log.groupOffsets(group, topic)
  const open = new Map(
    offsets.filter(({ end, earliest }) => end > earliest).map(({ partition, end }) => [partition, end]),
  )
  const done = Promise.withResolvers<void>()
  let events = 0
  if (open.size === 0) done.resolve()
  const consumption = await log.consume({
    ...{ group, topic, bytes_min: 1, bytes_max: 8 * 1024 * 1024, wait_ms_max: 100 },
    async onChunk({ partition, records }) {
      for (const { value } of records) {
        const envelope = JSON.parse(value.toString()) as Envelope
        if (app_ids.has(envelope.app_id)) events += envelope.events.length
      }
      if (records.at(-1)!.offset + 1 >= (open.get(partition) ?? 0)) open.delete(partition)
      if (open.size === 0) done.resolve()
    },
  })
  await done.promise
  await consumption.close()
  return events
}
