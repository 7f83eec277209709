import type { ConnectionOptions } from 'node:tls'
import kafkajs, { type Kafka, type logLevel as Level, type RetryOptions, type SASLOptions } from 'kafkajs'
import type { Logger } from 'pino'
import { sumFaster } from './private/crc32c.ts'
import { encodeByReference } from './private/encoder.ts'
import { keepCommitted } from './private/keep-committed.ts'
import { calmRequestQueue } from './private/request-queue.ts'
import { createZstd } from './private/zstd.ts'

/** How to reach Kafka. */
export interface KafkaAddress {
  /** `host:port`, at least one. */
  brokers: string[]
  client_id: string
  /** TLS with the authorities that Node trusts, or with what is given. */
  tls?: boolean | ConnectionOptions
  sasl?: { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: string }
}

/** Every time that the adapter waits for Kafka, ms. */
export const kafkaTimeouts = {
  /** A TCP and TLS handshake within a region takes milliseconds; beyond this the broker counts as away. */
  connect_ms: 2000,
  /** One request. Above `acks_ms`, so that the broker's own answer is heard. */
  request_ms: 5000,
  /** How long the leader waits for the replicas of a produce. */
  acks_ms: 4000,
  /** A client of HTTP waits for this: short enough for its patience, long enough for a change of leader. */
  publish_ms_max: 5000,
  /** kafkajs moves a group by joining it. */
  move_group_ms_max: 30_000,
  /**
   * How long a look-up of offsets is tried while Kafka has no coordinator or leader: a new Kafka on a busy machine elects for
   * seconds. Shorter than a service may take to stop.
   */
  coordinator_ms_max: 15_000,
  health_ms_max: 3000,
  /**
   * After this silence a member counts as dead and its partitions go to others: the least that Kafka takes by default
   * (`group.min.session.timeout.ms`). The event loop of a consumer with twelve full partitions paused for up to
   * 2.3 s on a machine with far too much to do. A member that was silent for longer is fenced: that costs time, no event.
   */
  session_ms: 6000,
  /** Five of them may get lost, or wait behind such a pause. */
  heartbeat_ms: 1000,
  /** How long a rebalance waits for members that still work on a batch: above the timeout of one ClickHouse insert. */
  rebalance_ms: 60_000,
  /** First and longest pause before a consumer is built again. */
  rebuild_first_ms: 500,
  rebuild_most_ms: 10_000,
  /** First and longest pause before a refused chunk is delivered again. */
  refused_first_ms: 100,
  refused_most_ms: 5000,
  /** How often the watchdog looks. */
  watch_ms: 15_000,
  /**
   * A consumer hangs that neither joins nor fetches for this long. It exceeds `rebalance_ms`, which a join may take.
   */
  silence_ms_max: 90_000,
  /** A consumer that does not disconnect by then is left to the broker's session timeout. */
  disconnect_ms_max: 5000,
} as const

/** Retries of single requests, about three seconds in all. */
export const kafkaRetry: RetryOptions = {
  retries: 5,
  initialRetryTime: 100,
  maxRetryTime: 1000,
  factor: 0.2,
  multiplier: 2,
}

/**
 * A kafkajs client. One for each consumption: kafkajs shares the offsets of a group between consumers of one client.
 * Every record is compressed and read with zstd by Node's own zlib; the codec is kafkajs's for the whole process.
 */
export function createKafka(address: KafkaAddress, logger: Logger): Kafka {
  calmRequestQueue()
  encodeByReference()
  sumFaster()
  keepCommitted()
  const { CompressionCodecs, CompressionTypes } = kafkajs
  const zstd = createZstd()
  CompressionCodecs[CompressionTypes.ZSTD] = () => zstd
  return new kafkajs.Kafka({
    brokers: address.brokers,
    clientId: address.client_id,
    ssl: address.tls ?? false,
    ...(address.sasl === undefined ? {} : { sasl: address.sasl as SASLOptions }),
    connectionTimeout: kafkaTimeouts.connect_ms,
    authenticationTimeout: kafkaTimeouts.request_ms,
    requestTimeout: kafkaTimeouts.request_ms,
    enforceRequestTimeout: true,
    retry: kafkaRetry,
    logLevel: kafkajs.logLevel.INFO,
    logCreator: () => forward(logger),
  })
}

/** kafkajs logs as an error what it then tries again; what is final reaches the callers as a rejection. */
function forward(logger: Logger) {
  return ({ namespace, level, log }: { namespace: string; level: Level; log: { message: string } }) => {
    const { message, ...rest } = log
    const { logLevel } = kafkajs
    const fields = { kafkajs: namespace, said: message, rest }
    if (level === logLevel.ERROR || level === logLevel.WARN) logger.warn(fields, 'kafka client')
    else logger.debug(fields, 'kafka client')
  }
}

/** `promise`, or a rejection after `ms`. */
export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
