import type { Broker } from '@tributary/broker/broker'
import { appPartition, installPartition } from '@tributary/broker/partition'
import { type ConsumerGroup, consumers } from '@tributary/contracts/consumers'
import { openIntent } from '@tributary/service-kit/consumer/intent'

/** A batch that was begun before a tombstone was written, and is not over. */
export interface OlderIntent {
  consumer: string
  topic: string
  partition: number
  /** Offsets, both inclusive. */
  from: number
  to: number
  /** The number that it pinned; null while it has none yet. */
  tombstones: number | null
}

/** An install by its app. */
export interface InstallOfApp {
  app_id: string
  install_uuid: string
}

/**
 * The open batches that do not know the tombstone with this number, in partitions that can hold records of these installs or
 * their apps. When it finds none, no consumer writes again what the tombstones up to this number cover: a batch that is
 * declared later reads the number after that (docs/decisions/erasure.md#batches-pin-the-tombstones-that-they-know). Rejects when the log
 * cannot be read, like any look-up.
 */
export async function findOlderIntents(
  broker: Pick<Broker, 'groupOffsets'>,
  number: number,
  installs: readonly InstallOfApp[],
): Promise<OlderIntent[]> {
  const groups = Object.values<ConsumerGroup>(consumers).filter(({ pins_tombstones }) => pins_tombstones !== undefined)
  const found = await Promise.all(groups.map((group) => findInGroup(broker, group, number, installs)))
  return found.flat()
}

async function findInGroup(
  broker: Pick<Broker, 'groupOffsets'>,
  group: ConsumerGroup,
  number: number,
  installs: readonly InstallOfApp[],
): Promise<OlderIntent[]> {
  const { name, topic } = group
  const offsets = await broker.groupOffsets(name, topic.name, { dated: false })
  const concerned = partitionsOf(group, installs, offsets.length)
  return offsets.flatMap(({ partition, committed, metadata }) => {
    if (committed === null || !concerned(partition)) return []
    const intent = openIntent({ offset: committed, metadata: metadata ?? '' })
    if (intent === null || (intent.tombstones ?? -1) >= number) return []
    const { from, to, tombstones } = intent
    return [{ consumer: name, topic: topic.name, partition, from, to, tombstones }]
  })
}

/** Clicks of an install may be anywhere. */
function partitionsOf({ pins_tombstones }: ConsumerGroup, installs: readonly InstallOfApp[], partitions: number) {
  const by = pins_tombstones!.by
  if (by === 'click') return () => installs.length > 0
  const concerned = new Set(
    installs.map(({ app_id, install_uuid }) =>
      by === 'app' ? appPartition(app_id, partitions) : installPartition(app_id, install_uuid, partitions),
    ),
  )
  return (partition: number) => concerned.has(partition)
}
