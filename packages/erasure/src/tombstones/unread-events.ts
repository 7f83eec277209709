import type { Broker } from '@tributary/broker/broker'
import { firstUnread } from '@tributary/broker/unread'
import { consumers } from '@tributary/contracts/consumers'

/** A partition of accepted events that event-writer has not read. */
export interface UnreadEvents {
  consumer: string
  partition: number
}

/** The partitions that hold accepted events which event-writer has not read, of those that stood in the log at a moment. */
export type NotedLog = () => Promise<UnreadEvents[]>

/** Notes what stands in the log of accepted events now. Both calls reject when the log cannot be read. */
export async function noteLog(broker: Pick<Broker, 'groupOffsets'>): Promise<NotedLog> {
  const { name, topic } = consumers.eventWriter
  const read = () => broker.groupOffsets(name, topic.name, { dated: false })
  const ends = new Map((await read()).map(({ partition, end }) => [partition, end]))
  return async () => {
    const places = await read()
    // A log that was put back ends earlier: it no longer holds the rest.
    const unread = places.filter((one) => firstUnread(one) < Math.min(ends.get(one.partition) ?? 0, one.end))
    return unread.map(({ partition }) => ({ consumer: name, partition }))
  }
}
