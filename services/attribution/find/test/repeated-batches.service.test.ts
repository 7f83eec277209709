import type { Fact } from '@tributary/contracts/attribution/found'
import { consumers } from '@tributary/contracts/consumers'
import { topics } from '@tributary/contracts/topics'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { memoryAttributionApps } from '@tributary/testing/twins/attribution-apps'
import { type MemoryBroker, memoryBroker } from '@tributary/testing/twins/memory-broker'
import fc from 'fast-check'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, test, vi } from 'vitest'
import { installFinder } from '../src/install-finder.ts'
import { eventOf, forms, received_at_ms, recordOf, topic } from './accepted-records.ts'

const partitions = 2
const apps = memoryAttributionApps([{ app_id: 'app_1' }, { app_id: 'app_2', company_id: 'co_2' }])
const { name: group } = consumers.installFinder
const now = () => received_at_ms

class Crash extends Error {}

const isRead = (broker: MemoryBroker) =>
  Array.from({ length: partitions }, (_, n) => broker.isDone(group, topic.name, n)).every((done) => done)

/** Runs a finder until it has read all, or until it dies after so many steps of its batches. */
async function live(broker: MemoryBroker, steps: number) {
  let left = steps
  const crash = () => {
    if (left-- <= 0) throw new Crash()
  }
  const running = await runConsumer({
    ...{ broker, consumer: installFinder({ broker, apps }), logger: pino({ level: 'silent' }), now, crash },
    ...{ registry: new Registry(), pauses: { first_ms: 1, most_ms: 2 } },
  })
  await vi.waitFor(() => expect(left < 0 || isRead(broker)).toBe(true), { timeout: 180_000, interval: 1 })
  await running.close()
}

/** The facts that were published, each once, without the identity of the log, which is another one in each run. */
function factsOf(broker: MemoryBroker): string[] {
  const published = Array.from({ length: partitions }, (_, n) => broker.records(topics.installsFound.name, n)).flat()
  const unique = [...new Set(published.map(({ value }) => value.toString()))]
  const places = unique.map((text) => JSON.stringify((JSON.parse(text) as Fact).place))
  expect(new Set(places).size, 'one fact at one place').toBe(unique.length)
  return unique.map((text) => text.replace(/@[^"]+/, '')).toSorted()
}

test('kills after any step, and chunks cut in any way, publish the same set of facts', async () => {
  const event = fc.constantFrom('app_install', 'app_first_open', '_user_alias', 'level_up', 'level_up')
  const record = fc.record({
    app_id: fc.constantFrom('app_1', 'app_2', 'app_gone'),
    install: fc.nat({ max: 5 }),
    names: fc.array(event, { minLength: 1, maxLength: 4 }),
    form: fc.constantFrom(...forms),
  })
  const plan = fc.record({
    records: fc.array(record, { minLength: 1, maxLength: 20 }),
    lives: fc.array(fc.record({ steps: fc.nat({ max: 14 }), chunk: fc.integer({ min: 1, max: 9 }) }), { maxLength: 5 }),
  })
  let facts = 0
  await fc.assert(
    fc.asyncProperty(plan, async ({ records, lives }) => {
      const stored = records.map(({ app_id, install, names, form }) => {
        const user_id = `u-${install}`
        const events = names.map((name) => eventOf(name, `i-${install}`, { user_id, device: { gaid: `g-${install}` } }))
        return recordOf(app_id, events, form, partitions)
      })
      const [calm, troubled] = [memoryBroker(partitions, now), memoryBroker(partitions, now)]
      await calm.publish(stored)
      await troubled.publish(stored)
      await live(calm, Number.POSITIVE_INFINITY)
      for (const { steps, chunk } of lives) {
        troubled.chunk_records_max = chunk
        await live(troubled, steps)
      }
      await live(troubled, Number.POSITIVE_INFINITY)
      const expected = factsOf(calm)
      facts += expected.length
      expect(factsOf(troubled)).toEqual(expected)
    }),
    { numRuns: 60 },
  )
  expect(facts).toBeGreaterThan(200)
})
