import { describeWithFleet } from '@tributary/testing/fleet/describe-with-fleet'
import { startFlow } from '@tributary/testing/fleet/flow'
import { isExact, verifyEvents } from '@tributary/testing/verify-events'
import { expect, it } from 'vitest'

const program = 'services/event-writer/test/away/crashing-main.ts'
const steps = [1, 2, 3, 4, 5]

await describeWithFleet({}, (fleet) => {
  it('holds every event exactly once after kill -9 in each of the five steps of a batch', async () => {
    const env = (step: number) => ({ TEST_STEP: String(step), TEST_BATCH: '3' })
    const crashing = await Promise.all(steps.map((step) => fleet.startWriter({ program, env: env(step) })))
    const flow = startFlow(fleet.broker)
    for (const writer of crashing) expect(await writer.exited()).toBe(null)
    await fleet.startWriter()
    await flow.stop()
    await fleet.untilWritten()

    const verdict = await verifyEvents(fleet.clickhouse, flow.acknowledged, [])
    expect(verdict, JSON.stringify(verdict)).toSatisfy(isExact)
    expect(verdict.in_events_raw).toBe(verdict.acknowledged)
    expect(verdict.acknowledged).toBeGreaterThan(1000)
  })
})
