import { setTimeout as pause } from 'node:timers/promises'
import type { Topic } from '@tributary/contracts/topics'
import kafkajs, { type Admin, type ITopicMetadata } from 'kafkajs'
import { type AppliedTopics, TopicsRefused } from '../broker.ts'
import { kafkaTimeouts } from './kafka-client.ts'

const made_poll_ms = 50
/** A broker on a busy machine makes the folders of all partitions, hundreds, before it leads the last of them. */
const made_wait_ms_max = 30_000

/** How topics are kept by a cluster; on a single node both are 1. */
export interface TopicReplication {
  replication_factor: number
  /** `min.insync.replicas`: an acknowledged record is on at least so many. */
  insync_replicas_min: number
}

/** Partition counts of the topics, for those that exist. */
export async function fetchPartitionCounts(admin: Admin, names: readonly string[]): Promise<Map<string, number>> {
  const existing = await fetchTopics(admin, names)
  return new Map([...existing].map(([name, { partitions }]) => [name, partitions.length]))
}

async function fetchTopics(admin: Admin, names: readonly string[]): Promise<Map<string, ITopicMetadata>> {
  const existing = new Set(await admin.listTopics())
  const known = names.filter((name) => existing.has(name))
  if (known.length === 0) return new Map()
  const { topics } = await admin.fetchTopicMetadata({ topics: known })
  return new Map(topics.map((topic) => [topic.name, topic]))
}

/**
 * Creates what is missing and brings settings to what is wanted; with `dryRun` Kafka only judges it. Rejects with
 * `TopicsRefused`, before anything is changed, for what can't be changed in place.
 */
export async function applyTopics(
  admin: Admin,
  wanted: readonly Topic[],
  replication: TopicReplication,
  dryRun: boolean,
): Promise<AppliedTopics> {
  refuseBadReplication(replication)
  const existing = await fetchTopics(admin, wanted.map(nameOf))
  refuseOtherShapes(wanted, existing, replication)
  const missing = wanted.filter(({ name }) => !existing.has(name))
  const changes = await findChanges(
    admin,
    wanted.filter(({ name }) => existing.has(name)),
    replication,
  )
  if (missing.length > 0) await create(admin, missing, replication, dryRun)
  if (changes.length > 0) await change(admin, changes, dryRun)
  // Another process may have been faster, with another count.
  if (!dryRun) refuseOtherShapes(missing, await fetchMade(admin, missing.map(nameOf)), replication)
  const touched = new Set([...missing.map(nameOf), ...changes.map(({ topic }) => topic)])
  return {
    created: missing.map(nameOf),
    changed: changes.flatMap(({ differing }) => differing),
    unchanged: wanted.map(nameOf).filter((name) => !touched.has(name)),
  }
}

const nameOf = ({ name }: Topic) => name

function settingsOf(topic: Topic, { insync_replicas_min }: TopicReplication): Map<string, string> {
  return new Map([
    ['cleanup.policy', 'delete'],
    ['retention.ms', String(topic.retention_ms)],
    ['min.insync.replicas', String(insync_replicas_min)],
    // An unclean leader would lose acknowledged records.
    ['unclean.leader.election.enable', 'false'],
    // A record's time is when the log took it, whatever the clock of the gateway says.
    ['message.timestamp.type', 'LogAppendTime'],
    // Our consumers read zstd alone, whoever produces. Batches that come as zstd are stored unchanged.
    ['compression.type', 'zstd'],
  ])
}

async function create(admin: Admin, missing: readonly Topic[], replication: TopicReplication, dryRun: boolean) {
  const { replication_factor } = replication
  const { brokers } = await admin.describeCluster()
  if (brokers.length < replication_factor) {
    const count = brokers.length === 1 ? '1 broker' : `${brokers.length} brokers`
    throw new TopicsRefused('too_few_brokers', `Kafka has ${count}: ${replication_factor} copies of a record need more`)
  }
  await admin
    .createTopics({
      validateOnly: dryRun,
      waitForLeaders: false, // see `fetchMade`
      timeout: kafkaTimeouts.request_ms,
      topics: missing.map((topic) => ({
        topic: topic.name,
        numPartitions: topic.partitions,
        replicationFactor: replication_factor,
        configEntries: entries(settingsOf(topic, replication)),
      })),
    })
    .catch((cause: Error & { errors?: (Error & { topic?: string })[] }) => {
      const [first] = cause.errors ?? []
      throw first === undefined ? cause : new Error(`topic ${first.topic}: ${first.message}`, { cause })
    })
}

/** Errors of a broker about a topic that was made a moment ago. */
const not_yet = ['LEADER_NOT_AVAILABLE', 'UNKNOWN_TOPIC_OR_PARTITION', 'NOT_LEADER_FOR_PARTITION']

/**
 * New topics, once the broker has heard of them and leads them; kafkajs's own wait takes the former for a fault. A broker
 * names itself as leader before it can say where a partition ends, and until then it takes no record either.
 */
async function fetchMade(admin: Admin, names: readonly string[]): Promise<Map<string, ITopicMetadata>> {
  for (const deadline = Date.now() + made_wait_ms_max; ; await pause(made_poll_ms)) {
    try {
      const found = await fetchTopics(admin, names)
      if (found.size === names.length) {
        await Promise.all(names.map((name) => admin.fetchTopicOffsets(name)))
        return found
      }
    } catch (error) {
      const { type, cause } = error as { type?: string; cause?: { type?: string } }
      if (!not_yet.includes(type ?? cause?.type ?? '')) throw error
    }
    if (Date.now() > deadline) {
      throw new Error(`Kafka made ${names.join(', ')}, but did not lead them in ${made_wait_ms_max} ms`)
    }
  }
}

const entries = (settings: Map<string, string>) => [...settings].map(([name, value]) => ({ name, value }))

interface TopicChange {
  topic: string
  differing: AppliedTopics['changed']
  /** All settings of the topic's own that it shall have: Kafka drops those that an AlterConfigs does not name. */
  settings: Map<string, string>
}

/** `configSource` of a value that was set on the topic itself (KIP-226). */
const set_on_topic = 1

async function findChanges(admin: Admin, topics: readonly Topic[], replication: TopicReplication) {
  if (topics.length === 0) return []
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map(({ name }) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name })),
  })
  return topics.flatMap((topic): TopicChange[] => {
    const found = resources.find(({ resourceName }) => resourceName === topic.name)?.configEntries ?? []
    const values = new Map(found.map(({ configName, configValue }) => [configName, configValue]))
    const own = found.filter(({ configSource }) => Number(configSource) === set_on_topic)
    const wanted = settingsOf(topic, replication)
    const differing = [...wanted]
      .filter(([setting, to]) => values.get(setting) !== to)
      .map(([setting, to]) => ({ topic: topic.name, setting, from: values.get(setting) ?? '', to }))
    if (differing.length === 0) return []
    const kept = own.map(({ configName, configValue }) => [configName, configValue] as const)
    return [{ topic: topic.name, differing, settings: new Map([...kept, ...wanted]) }]
  })
}

async function change(admin: Admin, changes: readonly TopicChange[], dryRun: boolean): Promise<void> {
  await admin.alterConfigs({
    validateOnly: dryRun,
    resources: changes.map(({ topic, settings }) => ({
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name: topic,
      configEntries: entries(settings),
    })),
  })
}

function refuseBadReplication({ replication_factor, insync_replicas_min }: TopicReplication): void {
  if (insync_replicas_min <= replication_factor) return
  throw new TopicsRefused(
    'bad_replication',
    `${insync_replicas_min} copies in sync can't be had of ${replication_factor} copies: nothing could be published`,
  )
}

function refuseOtherShapes(
  wanted: readonly Topic[],
  existing: Map<string, ITopicMetadata>,
  { replication_factor }: TopicReplication,
): void {
  for (const { name, partitions } of wanted) {
    const found = existing.get(name)?.partitions
    if (found === undefined) continue
    if (found.length !== partitions) {
      throw new TopicsRefused(
        'topic_differs',
        `topic ${name} has ${found.length} partitions, not ${partitions}: the map of installs to partitions is fixed`,
      )
    }
    // More than wanted are seen while partitions move.
    const copies = Math.min(...found.map(({ replicas }) => replicas.length))
    if (copies < replication_factor) {
      throw new TopicsRefused(
        'topic_differs',
        `topic ${name} has replication factor ${copies}, not ${replication_factor}`,
      )
    }
  }
}
