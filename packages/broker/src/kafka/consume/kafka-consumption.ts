import type { Admin, Consumer, EachBatchPayload, Kafka } from 'kafkajs'
import type { Logger } from 'pino'
import { type ConsumeOptions, type Consumption, FencedError } from '../../broker.ts'
import { createBudget } from '../kafka-budget.ts'
import { kafkaRetry, kafkaTimeouts, within } from '../kafka-client.ts'
import { fetchRanges } from '../kafka-offsets.ts'
import { createUnpack } from '../kafka-packed.ts'
import { createMembership, type Membership, makeChunk } from './kafka-membership.ts'
import { createPartitionQueue, type PartitionQueue } from './kafka-queue.ts'
import { createWatchdog, type Position } from './kafka-watchdog.ts'

export interface KafkaConsumptionDeps {
  admin: Admin
  logger: Logger
  partition_count: number
  /** A new client for each consumer (see `createKafka`). */
  newKafka(): Kafka
  /** How often the watchdog looks; `kafkaTimeouts.watch_ms` by default. */
  watch_ms?: number
}

/**
 * Reads a topic as a member of a group until it is closed. A consumer that crashes, hangs or stands still while there
 * is something to read is thrown away and built again; what it had in hand is fenced.
 */
export async function openKafkaConsumption(options: ConsumeOptions, deps: KafkaConsumptionDeps): Promise<Consumption> {
  const { group, topic, onChunk } = options
  const { admin } = deps
  const logger = deps.logger.child({ group, topic })
  const unpack = createUnpack()
  const budget = createBudget(options.bytes_total_max ?? chunks_held_default * options.bytes_max)
  /** The newest of each partition. The handler of one that is over keeps its partition until it ends. */
  const queues = new Map<number, { member: Membership; queue: PartitionQueue }>()
  let consumer: Consumer | null = null
  let membership: Membership | null = null
  /** Kafka said that the group rebalances: until the join, which may take long, nothing should move. */
  let joining = false
  let generations = 0
  let rebuilding: Promise<void> | null = null
  let closing: Promise<void> | null = null
  const closed = new AbortController()

  function begin(generation: string, partitions: readonly number[]) {
    membership?.void()
    joining = false
    generations += 1
    membership = createMembership(admin, group, topic, `${generation}/${generations}`, partitions)
    if (closing !== null) membership.end()
  }

  /** kafkajs may never answer on a connection that it gives up, nor say that its start failed. */
  const build = () => within(kafkaTimeouts.silence_ms_max, 'start of a consumer', start())

  async function start() {
    const made = deps.newKafka().consumer(consumerSettings(options, deps.partition_count))
    consumer = made
    const { GROUP_JOIN, REBALANCING, CRASH, FETCH, HEARTBEAT, REQUEST } = made.events
    const mine = () => consumer === made
    made.on(GROUP_JOIN, ({ payload }) => {
      watchdog.alive()
      if (mine()) begin(payload.memberId, payload.memberAssignment[topic] ?? [])
    })
    made.on(REBALANCING, () => {
      if (!mine()) return
      joining = true
      membership?.end()
    })
    // Handlers go on during a join. From its answer on, kafkajs would send what they commit as the new member, whose
    // commits Kafka takes for any partition.
    made.on(REQUEST, ({ payload }) => {
      if (mine() && payload.apiName === 'JoinGroup') membership?.void()
    })
    made.on(FETCH, () => {
      if (!mine()) return
      watchdog.alive()
      // kafkajs fetches in no join. When one fails it goes on with what it had, without heartbeats, and never joins again.
      if (joining) rebuild('the join failed')
    })
    made.on(HEARTBEAT, () => mine() && watchdog.alive())
    let crash: Error | null = null
    made.on(CRASH, ({ payload }) => {
      crash = payload.error
      if (mine()) rebuild('crash', payload.error)
    })
    await made.connect()
    if (mine()) await made.subscribe({ topics: [topic], fromBeginning: true })
    if (!mine()) {
      // It was given up meanwhile, and connected again after it.
      await discard(made)
      throw new Error('the consumer was given up')
    }
    await made.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: deps.partition_count,
      eachBatch: (payload) => onBatch(made, payload),
    })
    if (crash !== null) throw crash // `run` resolves also when the join failed
  }

  /** Throws the consumer away and builds another, again and again until one runs. */
  function rebuild(reason: string, err?: Error) {
    if (rebuilding !== null || closing !== null) return
    logger.warn({ err, reason }, 'kafka consumer is built again')
    rebuilding = (async () => {
      membership?.void()
      membership = null
      joining = false
      for (let failures = 0; closing === null; failures += 1) {
        const old = consumer
        consumer = null
        await discard(old)
        await waitDoubling(failures, kafkaTimeouts.rebuild_first_ms, kafkaTimeouts.rebuild_most_ms, closed.signal)
        if (closing !== null) return
        try {
          watchdog.alive()
          return await build()
        } catch (error) {
          logger.warn({ err: error }, 'kafka consumer could not be built')
        }
      }
    })().finally(() => {
      rebuilding = null
    })
  }

  async function discard(old: Consumer | null) {
    if (old === null) return
    await within(kafkaTimeouts.disconnect_ms_max, 'disconnect', old.disconnect()).catch((err) =>
      logger.debug({ err }, 'kafka consumer did not disconnect'),
    )
  }

  /**
   * Rejects for a consumer that was given up in its start and joined after it: kafkajs then leaves the group. Records that are not resolved
   * are fetched again.
   */
  async function onBatch(from: Consumer, payload: EachBatchPayload): Promise<void> {
    const { partition } = payload.batch
    const member = membership
    if (from !== consumer) throw new Error('the consumer was given up')
    if (member === null || member.signal.aborted) return holdBack(from, payload, kafkaTimeouts.refused_first_ms)
    try {
      const queue = await queueFor(from, member, partition)
      queue.take(payload)
    } catch (err) {
      logger.warn({ err, partition }, 'where reading begins is not known yet')
      holdBack(from, payload, kafkaTimeouts.rebuild_first_ms)
    }
  }

  function queueNow(member: Membership, partition: number): PartitionQueue | null {
    const known = queues.get(partition)
    return known?.member === member ? known.queue : null
  }

  async function queueFor(from: Consumer, member: Membership, partition: number): Promise<PartitionQueue> {
    const known = queueNow(member, partition)
    if (known !== null) return known
    const start = await member.start(partition)
    if (member.signal.aborted) throw new FencedError(`${topic}/${partition} was given away`)
    return queueNow(member, partition) ?? openQueue(from, member, partition, start)
  }

  function openQueue(from: Consumer, member: Membership, partition: number, start: number): PartitionQueue {
    const queue: PartitionQueue = createPartitionQueue({
      start,
      bytes_max: options.bytes_max,
      budget,
      needsValue: options.needsValue,
      signal: member.signal,
      former: queues.get(partition)?.queue.idle() ?? Promise.resolve(),
      seek: (offset) => from.seek({ topic, partition, offset: String(offset) }),
      unpack,
      deliver: (records, payload) => onChunk(makeChunk(member, payload, records, queue.rewind)),
      onRefused: (err, count) => logger.debug({ err, partition, count }, 'chunk refused, will be delivered again'),
      onBackwards: (next, found) => {
        logger.error({ partition, next, found }, 'the log went backwards: it is read from its earliest record')
        rebuild('backwards')
      },
    })
    queues.set(partition, { member, queue })
    return queue
  }

  /** No fetch of this partition for `ms`, while the others go on. */
  function holdBack(from: Consumer, payload: EachBatchPayload, ms: number): void {
    const resume = payload.pause()
    setTimeout(() => {
      if (from === consumer && closing === null) resume()
    }, ms).unref()
  }

  /**
   * Partitions that should move: the others wait for their handler, not for Kafka. A membership that has ended counts by
   * what is committed, since it dropped what it had fetched: kafkajs may know nothing of the end, and not join again.
   */
  async function standing(): Promise<Position[]> {
    const member = membership
    if (member === null || joining) return []
    const partitions = [...member.partitions].filter((partition) => !queueNow(member, partition)?.isBusy())
    return Promise.all(
      partitions.map(async (partition) => {
        const fetched = member.signal.aborted ? null : queueNow(member, partition)?.next()
        const next_offset = fetched ?? (await member.committed(partition))?.offset ?? 0
        return { partition, generation: member.generation, next_offset }
      }),
    )
  }

  async function close() {
    membership?.end()
    closed.abort()
    watchdog.stop()
    await rebuilding
    // Handlers first: kafkajs takes no commit and no heartbeat of a consumer that it stops.
    await Promise.all([...queues.values()].map(({ queue }) => queue.idle()))
    await discard(consumer)
    membership?.void()
  }

  const watchdog = createWatchdog({
    watch_ms: deps.watch_ms ?? kafkaTimeouts.watch_ms,
    standing,
    ranges: () => fetchRanges(admin, topic),
    onStall: (reason) => rebuild(reason),
  })
  // A coordinator that is still loading, or away for a moment, is no reason to refuse the start of a service.
  await build().catch((error) => rebuild('start', error))
  return {
    close() {
      closing ??= close()
      return closing
    },
  }
}

/**
 * Two for each of four partitions; docs/decisions/log.md#partitions-of-a-consumer-share-one-memory-bound has what it was measured against.
 */
const chunks_held_default = 8

/**
 * The largest record batch that a topic takes by default (`max.message.bytes`). kafkajs asks for partitions always in
 * the same order, so a fetch must have room for one of each: else the first ones would starve the last ones.
 */
const fetch_bytes_min = 1024 * 1024 + 64 * 1024

/** Sizes of a fetch are compressed ones: with a guess of 4 for JSON, two fetches make a chunk of full size. */
function consumerSettings({ group, bytes_min, bytes_max, wait_ms_max }: ConsumeOptions, partition_count: number) {
  const maxBytesPerPartition = Math.max(fetch_bytes_min, Math.ceil(bytes_max / 8))
  return {
    groupId: group,
    sessionTimeout: kafkaTimeouts.session_ms,
    rebalanceTimeout: kafkaTimeouts.rebalance_ms,
    heartbeatInterval: kafkaTimeouts.heartbeat_ms,
    allowAutoTopicCreation: false,
    minBytes: bytes_min,
    maxBytesPerPartition,
    maxBytes: maxBytesPerPartition * partition_count,
    maxWaitTimeInMs: wait_ms_max,
    readUncommitted: false,
    // A consumer that failed is built again by us, whatever the error: kafkajs restarts after some, stops after others.
    retry: { ...kafkaRetry, restartOnFailure: async () => false },
  }
}

function waitDoubling(failures: number, first_ms: number, most_ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(
    resolve,
    Math.min(most_ms, first_ms * 2 ** Math.min(failures, 20)) * (0.5 + Math.random() / 2),
  )
  signal.addEventListener('abort', () => resolve(), { once: true })
  return promise.finally(() => clearTimeout(timer))
}
