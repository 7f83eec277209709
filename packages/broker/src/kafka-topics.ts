import type { Topic } from '@tributary/contracts/topics'
import type { Admin } from 'kafkajs'

/** How topics are kept by a cluster; on a single node both are 1. */
export interface TopicReplication {
  replication_factor: number
  /** `min.insync.replicas`: an acknowledged record is on at least so many. */
  insync_replicas_min: number
}

/** Partition counts of the topics, for those that exist. */
export async function fetchPartitionCounts(admin: Admin, names: readonly string[]): Promise<Map<string, number>> {
  const existing = new Set(await admin.listTopics())
  const known = names.filter((name) => existing.has(name))
  if (known.length === 0) return new Map()
  const { topics } = await admin.fetchTopicMetadata({ topics: known })
  return new Map(topics.map(({ name, partitions }) => [name, partitions.length]))
}

/** Creates what is missing; rejects, and creates nothing, when a topic has another partition count. */
export async function applyTopics(
  admin: Admin,
  wanted: readonly Topic[],
  replication: TopicReplication,
): Promise<void> {
  const names = wanted.map(({ name }) => name)
  refuseOtherCounts(wanted, await fetchPartitionCounts(admin, names))
  const existing = new Set(await admin.listTopics())
  const missing = wanted.filter(({ name }) => !existing.has(name))
  if (missing.length === 0) return
  await admin.createTopics({
    waitForLeaders: true,
    topics: missing.map(({ name, partitions, retention_ms }) => ({
      topic: name,
      numPartitions: partitions,
      replicationFactor: replication.replication_factor,
      configEntries: entries({
        'cleanup.policy': 'delete',
        'retention.ms': retention_ms,
        'min.insync.replicas': replication.insync_replicas_min,
        // An unclean leader would lose acknowledged records.
        'unclean.leader.election.enable': false,
        // A record's time is when the log took it, whatever the clock of the gateway says.
        'message.timestamp.type': 'LogAppendTime',
      }),
    })),
  })
  // Another process may have been faster, with another count.
  refuseOtherCounts(wanted, await fetchPartitionCounts(admin, names))
}

const entries = (settings: Record<string, string | number | boolean>) =>
  Object.entries(settings).map(([name, value]) => ({ name, value: String(value) }))

function refuseOtherCounts(wanted: readonly Topic[], counts: Map<string, number>): void {
  for (const { name, partitions } of wanted) {
    const has = counts.get(name) ?? partitions
    if (has !== partitions) {
      throw new Error(
        `topic ${name} has ${has} partitions, not ${partitions}: the map of installs to partitions is fixed`,
      )
    }
  }
}
