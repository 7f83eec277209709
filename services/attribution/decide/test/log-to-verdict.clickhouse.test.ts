import type { Fact } from '@tributary/contracts/attribution/found'
import { consumers } from '@tributary/contracts/consumers'
import { clickhouseLookups } from '@tributary/deciding/lookups/clickhouse-lookups'
import { installWriter } from '@tributary/install-writer/install-writer'
import type { ConsumerDefinition } from '@tributary/service-kit/consumer/define-consumer'
import { type RunningConsumer, runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { clickColumns, clickLine } from '@tributary/tables/attribution/clicks'
import { foundRecord } from '@tributary/tables/attribution/records'
import { findClaims, findNewest } from '@tributary/tables/attribution/verdicts'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { memoryAttributionApps } from '@tributary/testing/twins/attribution-apps'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'
import pino from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { installAttributor } from '../src/install-attributor.ts'
import { createWriterWait } from '../src/writer-wait.ts'
import { app_id, click, company_id, hour_ms, install, t0, token } from './model/story.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

const now = () => t0 + 3 * hour_ms
const logger = pino({ level: 'silent' })
const isDone = (broker: ReturnType<typeof memoryBroker>, group: keyof typeof consumers) => () =>
  expect(broker.isDone(consumers[group].name, consumers[group].topic.name, 0)).toBe(true)
const patient = { timeout: 180_000, interval: 5 }

test('an install on the log becomes a verdict, one click has one owner over batches and kills, and a stop never hangs', async () => {
  const broker = memoryBroker(1, now)
  broker.chunk_records_max = 1
  const wait = createWriterWait()
  const attributor = installAttributor({
    ...{ broker, clickhouse, lookups: clickhouseLookups(clickhouse), now, wait, registry: new Registry() },
    redecisions: memoryRedecisions(),
    attributionApps: memoryAttributionApps([{ app_id, company_id }]),
    geo: { lookUp: () => ({ country: null, datacenter: false }) },
  })
  const run = <T>(consumer: ConsumerDefinition<T>, crash?: () => void): Promise<RunningConsumer> =>
    runConsumer({ broker, consumer, logger, registry: new Registry(), now, crash, pauses: { first_ms: 1, most_ms: 9 } })
  const publish = (...found: Fact[]) => broker.publish(found.map((one) => foundRecord(one, 1)))
  const one = click(1)
  const lines = clickLine(one, one.place)
  await clickhouse.insert({ table: 'clicks_raw_v1', columns: clickColumns, lines, token: 'clicks' })

  // Three installs name one click; the earliest comes last. Nobody writes verdicts yet, and the second batch waits.
  const named = [3, 2, 1].map((n) => install(n, { installed_at_ms: t0 + n * hour_ms, named_click: token(1) }))
  await publish(...named)
  const first = await run(attributor)
  await vi.waitFor(() => expect(broker.records(consumers.installWriter.topic.name, 0)).toHaveLength(1), patient)
  await first.close()
  expect(await findClaims(clickhouse, app_id, [one.click_id])).toEqual([])

  const writer = await run(installWriter({ clickhouse, logger, now }))
  let steps = 0
  const killed = await run(attributor, () => {
    steps += 1
    if ([2, 6, 10, 14, 15].includes(steps)) throw new Error('killed')
  })
  await vi.waitFor(isDone(broker, 'installAttributor'), patient)
  await vi.waitFor(isDone(broker, 'installWriter'), patient)
  await killed.close()
  await writer.close()
  expect(wait.troubles()).toEqual([])
  expect((await findClaims(clickhouse, app_id, [one.click_id])).map((claim) => claim.install_uuid)).toEqual(['i1'])
  const newest = await findNewest(clickhouse, app_id, ['i1', 'i2', 'i3'])
  const reasons = [...newest].map(([uuid, { decision }]) => [uuid, decision.candidates[0]?.reason]).toSorted()
  expect(reasons).toEqual([
    ['i1', null],
    ['i2', 'click_already_used'],
    ['i3', 'click_already_used'],
  ])
})
