import type { Broker, OutgoingRecord } from '@tributary/broker/broker'
import type { ConsumerGroup } from '@tributary/contracts/consumers'
import type { Topic } from '@tributary/contracts/topics'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { systemStatus } from '../../src/service/system-status.ts'

const topic = (name: string): Topic => ({ name, partitions: 2, retention_ms: 3_600_000 })
const events = topic('events')
const found = topic('found')
const attributed = topic('attributed')
/** In the order of the flow. The attributor also publishes wishes, which it reads itself. */
const flow: ConsumerGroup[] = [
  { name: 'finder', topic: events },
  { name: 'attributor', topic: found },
  { name: 'writer', topic: attributed },
]

const record = (to: Topic, text: string, partition = 0): OutgoingRecord => ({
  ...{ topic: to.name, partition, key: null },
  value: Buffer.from(text),
})

/** What a consumer publishes for a record. A fact makes a wish in the other partition, and a wish a last decision. */
const outcomes: Record<string, (text: string) => OutgoingRecord[]> = {
  finder: (text) => [record(found, `fact of ${text}`)],
  attributor: (text) =>
    text.startsWith('fact') ? [record(attributed, text), record(found, 'wish', 1)] : [record(attributed, text, 1)],
  writer: () => [],
}

/** Two events in the log, and consumers that work only when told. Each step is a publish or a commit, as in a batch. */
async function openWorld() {
  const broker = memoryBroker(2, () => 0)
  await broker.publish([record(events, 'a'), record(events, 'b')])
  const committedOf = (name: string, from: Topic, partition: number) =>
    broker.committed(name, from.name, partition)?.offset ?? 0
  const published = new Set<string>()
  /** Which consumer works next: the last one first or the first one first, both happen in a fleet. */
  async function step(latest: boolean): Promise<boolean> {
    for (const { name, topic: from } of latest ? flow.toReversed() : flow) {
      for (const partition of [0, 1]) {
        const offset = committedOf(name, from, partition)
        const next = broker.records(from.name, partition)[offset]
        if (next === undefined) continue
        const made = `${name}/${partition}/${offset}`
        if (published.has(made)) broker.setCommitted(name, from.name, partition, { offset: offset + 1, metadata: '' })
        else await broker.publish(outcomes[name]!(next.value.toString()))
        published.add(made)
        return true
      }
    }
    return false
  }
  return { broker, step }
}

/** The status while the world goes on by so many steps before each reading of offsets. */
async function statusMeanwhile(steps: readonly number[], latest: boolean, consumers: readonly ConsumerGroup[] = flow) {
  const { broker, step } = await openWorld()
  const left = [...steps]
  const between: Pick<Broker, 'groupOffsets'> = {
    async groupOffsets(group, name) {
      for (let n = left.shift() ?? 0; n > 0; n -= 1) await step(latest)
      return broker.groupOffsets(group, name)
    },
  }
  const status = await systemStatus({
    consumers,
    broker: between,
    health: { isReady: async () => true, bindings: async () => ({}) },
    now: () => 0,
  })
  const written = status.consumers.every(({ lag }) => lag === 0)
  return { written, lags: status.consumers.map(({ lag }) => lag), unfinished: await step(latest) }
}

describe('status while consumers publish for each other', () => {
  it('is never without lag before the last wish is written, however they take turns', async () => {
    const steps = fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (between, latest) => {
        const { written, unfinished } = await statusMeanwhile(between, latest)
        expect(written && unfinished).toBe(false)
      }),
      { numRuns: 500 },
    )
  })

  it('says so once all is written', async () => {
    expect(await statusMeanwhile([100], false)).toEqual({ written: true, lags: [0, 0, 0], unfinished: false })
  })

  it('counts what a topic has grown by since its own turn', async () => {
    const { broker, step } = await openWorld()
    while (await step(false));
    let readings = 0
    const status = await systemStatus({
      consumers: flow,
      broker: {
        async groupOffsets(group, name) {
          readings += 1
          if (readings === flow.length) await broker.publish([record(found, 'wish', 1)])
          return broker.groupOffsets(group, name)
        },
      },
      health: { isReady: async () => true, bindings: async () => ({}) },
      now: () => 7000,
    })
    expect(status.consumers.map(({ lag }) => lag)).toEqual([0, 1, 0])
    expect(status.consumers[1]).toMatchObject({ oldest_unwritten_ms: 7000 })
  })
})
