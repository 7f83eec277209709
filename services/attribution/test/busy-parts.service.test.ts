import { setImmediate as nextTurn } from 'node:timers/promises'
import { clickWriter } from '@tributary/click-writer/click-writer'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Decision } from '@tributary/contracts/attribution/decision'
import { limits } from '@tributary/contracts/limits'
import { installWriter } from '@tributary/install-writer/install-writer'
import type { ConsumerDefinition } from '@tributary/service-kit/consumer/define-consumer'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { memoryAttributionApps } from '@tributary/testing/twins/attribution-apps'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'
import { noLateDays } from '@tributary/testing/twins/no-late-days'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { clickOf, noon } from '../clicks/test/stage.ts'
import { decisionOf } from '../write/test/decisions.ts'

const app_id = 'app_busy'
const now = () => noon
/** Takes all, knows nothing, and answers in a later turn, as a server does. */
const clickhouse = { insert: nextTurn, query: () => nextTurn([]) } as unknown as Clickhouse

/** CPU time of the longest turn of the event loop, ms, while the consumer reads these values. Time of other processes does not count. */
async function longestTurn<T>(consumer: ConsumerDefinition<T>, values: readonly object[]): Promise<number> {
  const broker = memoryBroker(1, now)
  broker.chunk_records_max = values.length
  const { topic } = consumer
  await broker.publish(
    values.map((value) => ({ topic: topic.name, partition: 0, key: null, value: Buffer.from(JSON.stringify(value)) })),
  )
  const running = await runConsumer({
    ...{ broker, consumer, now, logger: pino({ level: 'silent' }), registry: new Registry() },
  })
  let longest_us = 0
  while (!broker.isDone(consumer.name, topic.name, 0)) {
    const before = process.threadCpuUsage()
    await nextTurn()
    const { user, system } = process.threadCpuUsage(before)
    longest_us = Math.max(longest_us, user + system)
  }
  await running.close()
  return longest_us / 1000
}

const busy = {
  'click-writer': () =>
    longestTurn(
      clickWriter({
        ...{ clickhouse, now, audit: memoryAuditStore(), redecisions: memoryRedecisions() },
        attributionApps: memoryAttributionApps([{ app_id }]),
        late: noLateDays,
      }),
      Array.from({ length: limits.click_batch_rows_max }, (_, n) =>
        clickOf({ app_id, clicked_at_ms: noon + n, device_hashes: [`a${n}`, `b${n}`] }),
      ),
    ),
  'install-writer': () =>
    longestTurn(
      installWriter({ clickhouse, now }),
      Array.from({ length: 4000 }, (_, n): Decision => decisionOf(app_id, `install ${n}`, { offset: n })),
    ),
}

/** A tenth of the time between two heartbeats. Slices take 10 ms; garbage and a slow machine come on top. */
const turn_ms_max = 100

test.each(Object.entries(busy))('a full batch of %s stops no heartbeat of another part', async (_name, run) => {
  await run() // compiles
  const found = [await run(), await run(), await run()]
  expect(Math.min(...found)).toBeLessThan(turn_ms_max)
})
