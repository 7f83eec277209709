import type { Broker, PartitionOffsets } from '@tributary/broker/broker'
import { lagOf } from '@tributary/broker/unread'
import type { SystemStatus } from '@tributary/contracts/admin/system'
import type { ConsumerGroup } from '@tributary/contracts/consumers'
import type { Health } from './health.ts'

export interface StatusDeps {
  /** In the order of the flow. */
  consumers: readonly ConsumerGroup[]
  broker: Pick<Broker, 'groupOffsets'>
  health: Pick<Health, 'isReady' | 'bindings'>
  /** Identity of the start, in standalone. */
  instance?: string
  now(): number
}

/**
 * The lag of every consumer group and the state of the engines that this process uses (docs/rules.md#commands). When every
 * lag is 0, all that was in the log is written, and so is all that the consumers published for each other meanwhile.
 */
export async function systemStatus({ consumers, broker, health, instance, now }: StatusDeps): Promise<SystemStatus> {
  return {
    ready: await health.isReady(),
    consumers: await readConsumers(consumers, broker, now),
    bindings: await health.bindings(),
    ...(instance !== undefined && { instance }),
  }
}

type ConsumerStatus = SystemStatus['consumers'][number]

/**
 * One consumer after the other: a later one takes in what an earlier one published before it committed. If nothing is
 * unread, the ends are read again, and a topic that has grown since its turn counts as unread: whoever waits asks again.
 */
async function readConsumers(
  consumers: readonly ConsumerGroup[],
  broker: StatusDeps['broker'],
  now: () => number,
): Promise<ConsumerStatus[]> {
  const places = new Map<ConsumerGroup, PartitionOffsets[]>()
  const read = async () => {
    for (const consumer of consumers) {
      const first = places.get(consumer)
      const current = await broker.groupOffsets(consumer.name, consumer.topic.name)
      places.set(consumer, first === undefined ? current : withCommits(current, first))
    }
    return consumers.map((consumer) => statusOf(consumer, places.get(consumer) ?? [], now()))
  }
  const statuses = await read()
  return statuses.every(({ lag }) => lag === 0) ? read() : statuses
}

/** The log of now, with what was committed at the first reading. */
function withCommits(current: readonly PartitionOffsets[], first: readonly PartitionOffsets[]): PartitionOffsets[] {
  const commits = new Map(first.map(({ partition, committed }) => [partition, committed]))
  return current.map((place) => ({ ...place, committed: commits.get(place.partition) ?? null }))
}

function statusOf({ name, topic }: ConsumerGroup, partitions: readonly PartitionOffsets[], now_ms: number) {
  const lag = partitions.reduce((sum, partition) => sum + lagOf(partition), 0)
  const oldest = partitions.flatMap(({ oldest_unread_ms }) => (oldest_unread_ms === null ? [] : [oldest_unread_ms]))
  const oldest_unwritten_ms = lag > 0 && oldest.length > 0 ? Math.max(0, now_ms - Math.min(...oldest)) : null
  return { name, topic: topic.name, lag, oldest_unwritten_ms }
}
