import type { Broker, PartitionOffsets } from '@tributary/broker/broker'
import { lagOf } from '@tributary/broker/unread'
import type { SystemStatus } from '@tributary/contracts/admin/system'
import type { ConsumerGroup } from '@tributary/contracts/consumers'
import type { Health } from './health.ts'

/** What a consumer has to do besides the records of its topic. */
export interface Backlog {
  count: number
  /** How long the oldest of it has waited; null without any. */
  oldest_ms: number | null
}

export interface StatusDeps {
  /** Consumers in the order of the flow. */
  consumers: readonly ConsumerGroup[]
  /** Backlogs by consumer, which count as lag. What one adds to a later topic is durable before it is done here. */
  backlogs?: ReadonlyMap<string, () => Promise<Backlog>>
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
export async function systemStatus(deps: StatusDeps): Promise<SystemStatus> {
  const { health, instance } = deps
  return {
    ready: await health.isReady(),
    consumers: await readConsumers(deps),
    bindings: await health.bindings(),
    ...(instance !== undefined && { instance }),
  }
}

type ConsumerStatus = SystemStatus['consumers'][number]

/**
 * One consumer after the other: a later one takes in what an earlier one published before it committed. If nothing is
 * unread, the ends are read again, and a topic that has grown since its turn counts as unread: whoever waits asks again.
 */
async function readConsumers({ consumers, backlogs, broker, now }: StatusDeps): Promise<ConsumerStatus[]> {
  const offsetsOf = new Map<ConsumerGroup, PartitionOffsets[]>()
  const left = new Map<ConsumerGroup, Backlog>()
  const read = async () => {
    for (const consumer of consumers) {
      const first = offsetsOf.get(consumer)
      const current = await broker.groupOffsets(consumer.name, consumer.topic.name)
      offsetsOf.set(consumer, first === undefined ? current : withCommits(current, first))
      // The backlog is read after its topic, whose records add to it, and before the topics that it publishes to.
      left.set(consumer, (await backlogs?.get(consumer.name)?.()) ?? no_backlog)
    }
    return consumers.map((consumer) => statusOf(consumer, offsetsOf.get(consumer)!, left.get(consumer)!, now()))
  }
  const statuses = await read()
  return statuses.every(({ lag }) => lag === 0) ? read() : statuses
}

/** The log of now, with what was committed at the first reading. */
function withCommits(current: readonly PartitionOffsets[], first: readonly PartitionOffsets[]): PartitionOffsets[] {
  const commits = new Map(first.map(({ partition, committed }) => [partition, committed]))
  return current.map((of) => ({ ...of, committed: commits.get(of.partition) ?? null }))
}

const no_backlog: Backlog = { count: 0, oldest_ms: null }

function statusOf(
  { name, topic }: ConsumerGroup,
  partitions: readonly PartitionOffsets[],
  { count, oldest_ms }: Backlog,
  now_ms: number,
) {
  const lag = partitions.reduce((sum, partition) => sum + lagOf(partition), count)
  const unread = partitions.flatMap(({ oldest_unread_ms: at_ms }) => (at_ms === null ? [] : [now_ms - at_ms]))
  const ages = [...unread, ...(oldest_ms === null ? [] : [oldest_ms])]
  const oldest_unwritten_ms = lag > 0 && ages.length > 0 ? Math.max(0, ...ages) : null
  return { name, topic: topic.name, lag, oldest_unwritten_ms }
}
