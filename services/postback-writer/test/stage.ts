import { createHash, randomInt } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { claimKeySql } from '@tributary/contracts/postback/claim-key'
import type { PostbackReceived } from '@tributary/contracts/postback/received'
import { topics } from '@tributary/contracts/topics'
import type { PostbackKeys } from '@tributary/domain/postback/keys'
import { type RunConsumerOptions, runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { createAppleTwin } from '@tributary/testing/postback/apple-twin'
import { type MemoryBroker, memoryBroker } from '@tributary/testing/twins/memory-broker'
import pino from 'pino'
import { Registry } from 'prom-client'
import { expect } from 'vitest'
import { type PostbackWriterDeps, postbackWriter } from '../src/postback-writer.ts'

export const day = 24 * 3600_000
export const noon = Date.UTC(2026, 5, 10, 12)
export const partitions = 2
export const apple = createAppleTwin()
const silent = pino({ level: 'silent' })

/** An item id of a test of its own, above 2^32. */
export const newItem = (): number => 5_000_000_000 + randomInt(2 ** 40)

export const receivedOf = (
  protocol: PostbackReceived['protocol'],
  body: string,
  received_at_ms = noon,
): PostbackReceived => ({
  ...{ v: 1, protocol, content_type: 'application/json', body, received_at_ms },
  audit_key: `postbacks/${protocol}/2026/06/10/${received_at_ms}-test-1.jsonl.gz`,
})

/** Puts postbacks on the log: those with the same `id` into one partition, as the gateway does. */
export async function publishPostbacks(
  broker: MemoryBroker,
  postbacks: readonly { id: string; received: PostbackReceived }[],
): Promise<void> {
  const records = postbacks.map(({ id, received }) => ({
    topic: topics.postbacksReceived.name,
    partition: createHash('sha256').update(id).digest().readUInt32BE() % partitions,
    key: id,
    value: Buffer.from(JSON.stringify(received)),
  }))
  await broker.publish(records)
}

export const makeLog = (): MemoryBroker => memoryBroker(partitions, () => noon)

export interface WriterOptions extends Pick<Partial<RunConsumerOptions<never>>, 'crash'> {
  step?: PostbackWriterDeps['crash']
  keys?: PostbackKeys
}

/** A life of the postback-writer. `crash` is that of the kit, `step` that of its own steps. */
export const startWriter = (
  clickhouse: Clickhouse,
  broker: MemoryBroker,
  { step, keys = apple.keys, ...given }: WriterOptions = {},
) =>
  runConsumer({
    broker,
    consumer: postbackWriter({
      ...{ clickhouse, postbackKeys: { current: () => keys }, logger: silent },
      ...(step && { crash: step }),
    }),
    logger: silent,
    registry: new Registry(),
    now: () => noon,
    pauses: { first_ms: 1, most_ms: 2 },
    ...given,
  })

export const isDone = (broker: MemoryBroker): boolean =>
  Array.from({ length: partitions }, (_, n) =>
    broker.isDone('postback-writer', topics.postbacksReceived.name, n),
  ).every(Boolean)

export const until = (condition: () => boolean): Promise<void> =>
  expect.poll(condition, { timeout: 180_000, interval: 1 }).toBe(true)

export async function runToEnd(
  clickhouse: Clickhouse,
  broker: MemoryBroker,
  options: WriterOptions = {},
): Promise<void> {
  const running = await startWriter(clickhouse, broker, options)
  await until(() => isDone(broker))
  await running.close()
}

/** Places of an item's claims that are marked as beaten. */
export async function beatenPlaces(clickhouse: Clickhouse, item: number): Promise<string[]> {
  const claims = await clickhouse.query<{ place: string }>(
    `SELECT DISTINCT concat(toString(partition), '/', toString(offset)) AS place FROM postback_claims_v1
     WHERE postback_key IN (SELECT postback_key FROM postbacks_decoded_v1 WHERE advertised_item_id = {item:UInt64})
       AND (day, ${claimKeySql()}) IN (SELECT day, claim_key FROM postback_beaten_claims_v1) ORDER BY place`,
    { item },
  )
  return claims.map(({ place }) => place)
}
