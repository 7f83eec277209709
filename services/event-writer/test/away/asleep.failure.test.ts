import { execFileSync } from 'node:child_process'
import { describeWithFleet } from '@tributary/testing/fleet/describe-with-fleet'
import { startFlow } from '@tributary/testing/fleet/flow'
import { isExact, verifyEvents } from '@tributary/testing/verify-events'
import { expect, it, vi } from 'vitest'

const patience = { timeout: 180_000, interval: 100 }
const program = 'services/event-writer/test/away/crashing-main.ts'

await describeWithFleet({ writers: 1 }, (fleet) => {
  it('changes nothing when a writer wakes up in mid-batch after its partitions were given away', async () => {
    const flow = startFlow(fleet.broker)
    // Between intent and insert: it wakes up with a block in hand that the other one has written meanwhile.
    const env = { TEST_SIGNAL: 'SIGSTOP', TEST_STEP: '2', TEST_BATCH: '4' }
    const sleeper = await fleet.startWriter({ program, env })
    await vi.waitFor(() => expect(stateOf(sleeper.pid())).toMatch(/^T/), patience)
    await flow.stop()
    await fleet.untilWritten() // which the other one can only do with all partitions

    const more = startFlow(fleet.broker)
    sleeper.resume()
    const before = await writtenBy(sleeper.url)
    await vi.waitFor(async () => expect(await writtenBy(sleeper.url)).toBeGreaterThan(before), patience)
    await more.stop()
    await fleet.untilWritten()
    const verdict = await verifyEvents(fleet.clickhouse, [...flow.acknowledged, ...more.acknowledged], [])
    expect(verdict, JSON.stringify(verdict)).toSatisfy(isExact)
    expect(verdict.in_events_raw).toBe(verdict.acknowledged)
  })
})

/** `T`: stopped by a signal. */
const stateOf = (pid: number): string => execFileSync('ps', ['-o', 'state=', '-p', String(pid)]).toString()

/** Events that a writer has written and committed in its present life. */
async function writtenBy(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  return Number(/^tributary_consumer_written_total\{[^}]*\} (\d+)/m.exec(metrics)?.[1] ?? 0)
}
