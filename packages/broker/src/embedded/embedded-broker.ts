import { randomUUID } from 'node:crypto'
import { open } from 'node:fs/promises'
import { limits } from '@tributary/contracts/limits'
import type { Topic } from '@tributary/contracts/topics'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import {
  type AppliedTopics,
  type Broker,
  type ConsumeOptions,
  type OutgoingRecord,
  type PartitionOffsets,
  TopicsRefused,
} from '../broker.ts'
import { valueBytes } from '../gzip/packed-value.ts'
import { createLogMetrics } from '../log-metrics.ts'
import { firstUnread } from '../unread.ts'
import { openCommittedOffsets } from './committed-offsets.ts'
import { type ConsumerGroup, createConsumerGroup } from './consumer-group.ts'
import { openConsumption } from './consumption.ts'
import { openLogStore } from './log-store.ts'
import { openPartitionLog, type PartitionLog } from './partition-log.ts'
import { deleteOld } from './retention.ts'

export interface EmbeddedBrokerOptions {
  dir: string
  now: () => number
  logger?: Pick<Logger, 'warn' | 'error'>
  registry?: Registry
  /**
   * Partitions of every topic of a new folder, whatever its definition says. A folder keeps the number that it was made with, for later
   * topics as well: the map of installs to partitions is fixed.
   */
  partitions?: number
  /** While false, `publish` rejects with `unavailable`. */
  hasSpace?: () => boolean
}

export interface EmbeddedBroker extends Broker {
  /** Deletes what is past its retention and read by every group; runs by itself once a minute. Returns the records deleted. */
  sweepRetention(): Promise<number>
}

interface OpenTopic {
  retention_ms: number
  logs: PartitionLog[]
}

/** The same as on Kafka, so that both accept the same records. */
const { log_record_bytes_max: record_bytes_max } = limits
const sweep_interval_ms = 60_000
/** Kafka's rule for topics and, here, for groups. */
const namePattern = /^[A-Za-z0-9._-]{1,249}$/

/** The event log in a folder, for one process. */
export async function openEmbeddedBroker(options: EmbeddedBrokerOptions): Promise<EmbeddedBroker> {
  const { dir, now, logger } = options
  const metrics = createLogMetrics(options.registry)
  const store = openLogStore(dir, now, metrics.committed, options.hasSpace)
  await syncDirectory(dir)
  const offsets = openCommittedOffsets(store)
  const topics = new Map<string, OpenTopic>()
  const groups = new Map<string, ConsumerGroup>()
  const consumptions = new Set<{ close(): Promise<void> }>()
  /** New with each start: a generation never comes back. */
  const epoch = randomUUID()
  let generations = 0
  let closing: Promise<void> | null = null
  let closed = false

  for (const { key, value } of store.topics.getRange({})) openTopic({ name: key, ...value })
  const [first] = topics.values()
  const forced = options.partitions === undefined ? undefined : (first?.logs.length ?? options.partitions)

  function openTopic({ name, partitions, retention_ms }: Topic) {
    const logs = Array.from({ length: partitions }, (_, partition) => openPartitionLog(store, name, partition))
    topics.set(name, { retention_ms, logs })
  }

  function getTopic(name: string): OpenTopic {
    if (closed) throw new Error('the event log is closed')
    const topic = topics.get(name)
    if (topic === undefined) throw new Error(`unknown topic ${name}`)
    return topic
  }

  function getLog(record: OutgoingRecord): PartitionLog {
    const log = getTopic(record.topic).logs[record.partition]
    if (log === undefined) throw new RangeError(`${record.topic} has no partition ${record.partition}`)
    if (valueBytes(record.value) > record_bytes_max) throw new RangeError(`record over ${record_bytes_max} bytes`)
    return log
  }

  async function applyTopics(wanted: readonly Topic[], dryRun: boolean): Promise<AppliedTopics> {
    const applied: AppliedTopics = { created: [], changed: [], unchanged: [] }
    const ours = wanted.map((topic) => ({ ...topic, partitions: forced ?? topic.partitions }))
    for (const { name, partitions } of ours) {
      const found = topics.get(name)?.logs.length ?? partitions
      if (found !== partitions) throw partitionsDiffer(name, found, partitions)
      if (!namePattern.test(name)) throw new RangeError(`not a topic name: ${name}`)
    }
    for (const topic of ours) {
      const existing = topics.get(topic.name)
      if (existing?.retention_ms === topic.retention_ms) {
        applied.unchanged.push(topic.name)
        continue
      }
      if (existing === undefined) applied.created.push(topic.name)
      else applied.changed.push(retentionChange(topic, existing.retention_ms))
      if (!dryRun) await putTopic(topic, existing)
    }
    return applied
  }

  async function putTopic(topic: Topic, existing: OpenTopic | undefined): Promise<void> {
    const { name, partitions, retention_ms } = topic
    await store.queue.submit({
      stage: (staging) => staging.change(() => store.topics.put(name, { partitions, retention_ms })),
    })
    if (existing === undefined) openTopic(topic)
    else existing.retention_ms = retention_ms
  }

  function getGroup(group: string, topic: string): ConsumerGroup {
    const name = `${group} ${topic}`
    const found = groups.get(name)
    if (found !== undefined) return found
    const made = createConsumerGroup(getTopic(topic).logs.length, () => `${epoch}-${++generations}`)
    groups.set(name, made)
    return made
  }

  async function consume(wanted: ConsumeOptions) {
    if (closing !== null) throw new Error('the event log is closing')
    const { logs } = getTopic(wanted.topic)
    if (!namePattern.test(wanted.group)) throw new RangeError(`not a group name: ${wanted.group}`)
    const group = getGroup(wanted.group, wanted.topic)
    const consumption = openConsumption(wanted, { store, offsets, group, logs, logger })
    consumptions.add(consumption)
    return {
      async close() {
        await consumption.close()
        consumptions.delete(consumption)
      },
    }
  }

  /** The offset from which some group needs the log. A group that reads or ever committed, but not here, needs all of it. */
  function neededFrom(name: string, log: PartitionLog): number {
    const interested = offsets.groupsOf(name)
    for (const [key, group] of groups) {
      const [groupName, topicName] = key.split(' ')
      if (topicName === name && !group.isEmpty()) interested.add(groupName!)
    }
    const range = { earliest: log.earliest(), end: log.end().offset }
    const committedOf = (group: string) => offsets.get(group, name, log.partition)?.offset ?? null
    return Math.min(...[...interested].map((group) => firstUnread({ ...range, committed: committedOf(group) })))
  }

  async function sweepRetention(): Promise<number> {
    let deleted = 0
    for (const [name, { retention_ms, logs }] of topics) {
      for (const log of logs) {
        if (closing !== null) return deleted
        deleted += await deleteOld(store, log, now() - retention_ms, () => neededFrom(name, log))
      }
    }
    return deleted
  }

  const sweeping = setInterval(() => {
    sweepRetention().catch((error) => logger?.error({ err: error }, 'retention sweep failed'))
  }, sweep_interval_ms).unref()

  async function close() {
    clearInterval(sweeping)
    // Chunks in hand may still publish and commit.
    await Promise.all([...consumptions].map((consumption) => consumption.close()))
    closed = true
    // Everything submitted so far is decided once this is; a failed disk must not keep the log from closing.
    await store.queue.submit({ stage: () => {} }).catch(() => {})
    await store.close()
  }

  return {
    async publish(records) {
      const staged = records.map((record) => ({ record, log: getLog(record) }))
      if (staged.length === 0) return
      await store.queue.submit({
        stage(staging) {
          for (const { record, log } of staged) staging.append(log, record)
        },
      })
    },
    consume,
    applyTopics: (wanted, { dryRun = false } = {}) => applyTopics(wanted, dryRun),
    async partitionCount(topic) {
      return getTopic(topic).logs.length
    },
    async groupOffsets(group, topic, { dated = true } = {}) {
      return getTopic(topic).logs.map((log): PartitionOffsets => {
        const { offset: committed = null, metadata = null } = offsets.get(group, topic, log.partition) ?? {}
        const range = { committed, earliest: log.earliest(), end: log.end().offset }
        const oldest_unread_ms = dated ? log.timestampAt(firstUnread(range)) : null
        return { partition: log.partition, metadata, ...range, oldest_unread_ms }
      })
    },
    async moveGroup(group, topic, moved) {
      const refuseBusy = () => {
        if (!getGroup(group, topic).isEmpty()) throw new Error(`the group ${group} has members`)
      }
      refuseBusy()
      for (const { partition, offset } of moved) {
        await store.queue.submit(offsets.write(group, topic, partition, { offset, metadata: '' }, refuseBusy))
      }
    },
    async firstOffsetAfter(topic, partition, timestamp_ms) {
      const log = getTopic(topic).logs[partition]
      if (log === undefined) throw new RangeError(`${topic} has no partition ${partition}`)
      return log.firstAfter(timestamp_ms)
    },
    async checkHealth() {
      if (closed) throw new Error('the event log is closed')
      // A real commit: a full or read-only disk is seen here before a client sees it.
      await store.probe()
    },
    close() {
      closing ??= close()
      return closing
    },
    sweepRetention,
  }
}

/** lmdb syncs its files, not the names of new ones: without this a power cut after the first start could take them all. */
async function syncDirectory(path: string) {
  const directory = await open(path, 'r')
  await directory.sync().finally(() => directory.close())
}

const retentionChange = ({ name, retention_ms }: Topic, from_ms: number) => ({
  topic: name,
  setting: 'retention.ms',
  from: String(from_ms),
  to: String(retention_ms),
})

const partitionsDiffer = (topic: string, found: number, wanted: number) =>
  new TopicsRefused(
    'topic_differs',
    `topic ${topic} has ${found} partitions, not ${wanted}: the map of installs to partitions is fixed, ` +
      'set the old number again or start with an empty data folder',
  )
