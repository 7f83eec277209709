import { execFileSync } from 'node:child_process'
import { describeWithFleet } from '@tributary/testing/fleet/describe-with-fleet'
import { startFlow } from '@tributary/testing/fleet/flow'
import { roundsOf } from '@tributary/testing/rounds'
import { isExact, type SentEvents, verifyEvents } from '@tributary/testing/verify-events'
import { expect, it, vi } from 'vitest'

const patience = { timeout: 180_000, interval: 100 }
/** A writer that sends itself a signal in a step of a batch. */
const program = 'services/event-writer/test/away/crashing-main.ts'
const rounds = roundsOf(1)

// One fleet, because its start costs more than each of these stories.
await describeWithFleet({ writers: 2 }, (fleet) => {
  /** Of all flows: the tables hold those of the tests before. */
  const acknowledged: SentEvents[] = []
  const flowOf = () => {
    const flow = startFlow(fleet.broker)
    return {
      async stop() {
        await flow.stop()
        acknowledged.push(...flow.acknowledged)
        return flow.acknowledged.length
      },
    }
  }
  const expectExact = async () => {
    await fleet.untilWritten()
    const verdict = await verifyEvents(fleet.clickhouse, acknowledged, [])
    expect(verdict, JSON.stringify(verdict)).toSatisfy(isExact)
    expect(verdict.in_events_raw).toBe(verdict.acknowledged)
  }
  const stopWriters = (from: number) =>
    Promise.all(fleet.writers.splice(from).map(async (writer) => expect(await writer.stop()).toBe(0)))

  it('writes every event exactly once while writers come and go', async () => {
    const flow = flowOf()
    for (let round = 0; round < rounds; round += 1) {
      for (const writer of fleet.writers) {
        const { committed } = await fleet.progress()
        await vi.waitFor(async () => expect((await fleet.progress()).committed).toBeGreaterThan(committed), patience)
        expect(await writer.stop()).toBe(0)
        await writer.restart()
      }
    }
    await flow.stop()
    await expectExact()
  })

  it('changes nothing when a writer wakes up in mid-batch after its partitions were given away', async () => {
    await stopWriters(1)
    const flow = flowOf()
    // Between intent and insert: it wakes up with a block in hand that the other one has written meanwhile.
    const env = { TEST_SIGNAL: 'SIGSTOP', TEST_STEP: '2', TEST_BATCH: '4' }
    const sleeper = await fleet.startWriter({ program, env })
    await vi.waitFor(() => expect(stateOf(sleeper.pid())).toMatch(/^T/), patience)
    await flow.stop()
    await fleet.untilWritten() // which the other one can only do with all partitions

    const more = flowOf()
    sleeper.resume()
    const before = await writtenBy(sleeper.url)
    await vi.waitFor(async () => expect(await writtenBy(sleeper.url)).toBeGreaterThan(before), patience)
    await more.stop()
    await expectExact()
  })

  it('holds every event exactly once after kill -9 in each of the five steps of a batch', async () => {
    await stopWriters(0)
    const env = (step: number) => ({ TEST_STEP: String(step), TEST_BATCH: '3' })
    const crashing = await Promise.all([1, 2, 3, 4, 5].map((step) => fleet.startWriter({ program, env: env(step) })))
    const flow = flowOf()
    for (const writer of crashing) expect(await writer.exited()).toBe(null)
    await fleet.startWriter()
    expect(await flow.stop()).toBeGreaterThan(50)
    await expectExact()
  })
})

/** `T`: stopped by a signal. */
const stateOf = (pid: number): string => execFileSync('ps', ['-o', 'state=', '-p', String(pid)]).toString()

/** Events that a writer has written and committed in its present life. */
async function writtenBy(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  return Number(/^tributary_consumer_written_total\{[^}]*\} (\d+)/m.exec(metrics)?.[1] ?? 0)
}
