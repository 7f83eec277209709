import type { Broker, PartitionOffsets } from '@tributary/broker/broker'
import { installPartition } from '@tributary/broker/partition'
import { firstUnread } from '@tributary/broker/unread'
import { consumers } from '@tributary/contracts/consumers'
import type { LogEnd } from '@tributary/domain/erasure/tombstones'
import { committedSource } from '@tributary/service-kit/consumer/intent'
import type { InstallOfApp } from './older-intents.ts'

/** A partition of accepted events that event-writer has not read. */
export interface UnreadEvents {
  consumer: string
  partition: number
}

/** What stood in the log of accepted events at a moment. */
export interface NotedLog {
  /** The partitions that hold some of it which event-writer has not read. Rejects when the log cannot be read. */
  unread(): Promise<UnreadEvents[]>
  /** Where the partition of an install ended; null where event-writer had committed nothing. */
  endOf(install: InstallOfApp): LogEnd | null
}

/** Notes what stands in the log of accepted events now. Rejects when the log cannot be read. */
export async function noteLog(broker: Pick<Broker, 'groupOffsets'>): Promise<NotedLog> {
  const { name, topic } = consumers.eventWriter
  const read = () => broker.groupOffsets(name, topic.name, { dated: false })
  const noted = new Map((await read()).map((one) => [one.partition, one]))
  return {
    async unread() {
      const offsets = await read()
      // A log that was put back ends earlier: it no longer holds the rest.
      const unread = offsets.filter((one) => firstUnread(one) < Math.min(noted.get(one.partition)?.end ?? 0, one.end))
      return unread.map(({ partition }) => ({ consumer: name, partition }))
    },
    endOf({ app_id, install_uuid }) {
      const offsets = noted.get(installPartition(app_id, install_uuid, noted.size))
      return offsets === undefined ? null : endOf(topic.name, offsets)
    },
  }
}

function endOf(topic: string, { committed, metadata, end }: PartitionOffsets): LogEnd | null {
  const source = committed === null ? null : committedSource(topic, { offset: committed, metadata: metadata ?? '' })
  return source === null ? null : { source, offset: end }
}
