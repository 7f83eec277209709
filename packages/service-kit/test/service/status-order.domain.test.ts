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
/** In the order of the flow. The attributor also adds re-decisions to a list, which it works off itself. */
const flow: ConsumerGroup[] = [
  { name: 'finder', topic: events },
  { name: 'attributor', topic: found },
  { name: 'writer', topic: attributed },
]

const record = (to: Topic, text: string, partition = 0): OutgoingRecord => ({
  ...{ topic: to.name, partition, key: null },
  value: Buffer.from(text),
})

/** What a consumer publishes for a record. */
const outcomes: Record<string, (text: string) => OutgoingRecord[]> = {
  finder: (text) => [record(found, `fact of ${text}`)],
  attributor: (text) => [record(attributed, text)],
  writer: () => [],
}

/** Two events in the log, and consumers that work only when told. Each step is a publish or a commit, as in a batch. */
async function openWorld() {
  const broker = memoryBroker(2, () => 0)
  await broker.publish([record(events, 'a'), record(events, 'b')])
  const committedOf = (name: string, from: Topic, partition: number) =>
    broker.committed(name, from.name, partition)?.offset ?? 0
  const published = new Set<string>()
  /** Re-decisions: each fact adds one, and one is decided before it is removed. */
  const list: { decided: boolean }[] = []
  async function stepList(): Promise<boolean> {
    const entry = list[0]
    if (entry === undefined) return false
    if (entry.decided) list.shift()
    else await broker.publish([record(attributed, 'decided again', 1)])
    entry.decided = true
    return true
  }
  /** Which consumer works next: the last one first or the first one first, both happen in a fleet. */
  async function step(latest: boolean): Promise<boolean> {
    for (const { name, topic: from } of latest ? flow.toReversed() : flow) {
      if (name === 'attributor' && latest && (await stepList())) return true
      for (const partition of [0, 1]) {
        const offset = committedOf(name, from, partition)
        const next = broker.records(from.name, partition)[offset]
        if (next === undefined) continue
        const made = `${name}/${partition}/${offset}`
        if (published.has(made)) broker.setCommitted(name, from.name, partition, { offset: offset + 1, metadata: '' })
        else await publish(name, next.value.toString())
        published.add(made)
        return true
      }
      if (name === 'attributor' && (await stepList())) return true
    }
    return false
  }
  /** What is owed later is on the list before anything is published. */
  async function publish(name: string, text: string) {
    if (name === 'attributor') list.push({ decided: false })
    await broker.publish(outcomes[name]!(text))
  }
  const backlogs = new Map([
    ['attributor', async () => ({ count: list.length, oldest_ms: list.length > 0 ? 5 : null })],
  ])
  return { broker, step, backlogs }
}

/** The status while the world goes on by so many steps before each reading of offsets. */
async function statusMeanwhile(steps: readonly number[], latest: boolean, consumers: readonly ConsumerGroup[] = flow) {
  const { broker, step, backlogs } = await openWorld()
  const left = [...steps]
  const between: Pick<Broker, 'groupOffsets'> = {
    async groupOffsets(group, name) {
      for (let n = left.shift() ?? 0; n > 0; n -= 1) await step(latest)
      return broker.groupOffsets(group, name)
    },
  }
  const status = await systemStatus({
    consumers,
    backlogs,
    broker: between,
    health: { isReady: async () => true, bindings: async () => ({}) },
    now: () => 0,
  })
  const written = status.consumers.every(({ lag }) => lag === 0)
  return { written, lags: status.consumers.map(({ lag }) => lag), unfinished: await step(latest) }
}

describe('status while consumers publish for each other', () => {
  it('is never without lag before the last re-decision is written, however they take turns', async () => {
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
          if (readings === flow.length) await broker.publish([record(found, 'fact', 1)])
          return broker.groupOffsets(group, name)
        },
      },
      health: { isReady: async () => true, bindings: async () => ({}) },
      now: () => 7000,
    })
    expect(status.consumers.map(({ lag }) => lag)).toEqual([0, 1, 0])
    expect(status.consumers[1]).toMatchObject({ oldest_unwritten_ms: 7000 })
  })

  it('counts what waits in a list as lag, with its age', async () => {
    const { broker, step } = await openWorld()
    while (await step(false));
    const status = await systemStatus({
      ...{ consumers: flow, broker, now: () => 7000 },
      backlogs: new Map([['attributor', async () => ({ count: 3, oldest_ms: 40 })]]),
      health: { isReady: async () => true, bindings: async () => ({}) },
    })
    expect(status.consumers[1]).toMatchObject({ lag: 3, oldest_unwritten_ms: 40 })
  })
})
