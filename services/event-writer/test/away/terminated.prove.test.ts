import { describeWithFleet } from '@tributary/testing/fleet/describe-with-fleet'
import { startFlow } from '@tributary/testing/fleet/flow'
import { isExact, verifyEvents } from '@tributary/testing/verify-events'
import { expect, it, vi } from 'vitest'

const patience = { timeout: 180_000, interval: 50 }

await describeWithFleet({ writers: 1 }, (fleet) => {
  it('ends with code 0 on SIGTERM under load, and the next writer goes on where it stopped', async () => {
    const flow = startFlow(fleet.broker)
    await vi.waitFor(async () => expect((await fleet.progress()).committed).toBeGreaterThan(0), patience)
    const [writer] = fleet.writers
    expect(await writer?.stop()).toBe(0)
    const verdictThen = await verifyEvents(fleet.clickhouse, [], [])
    expect(verdictThen).toSatisfy(isExact)

    await writer?.restart()
    await flow.stop()
    await fleet.untilWritten()
    const verdict = await verifyEvents(fleet.clickhouse, flow.acknowledged, [])
    expect(verdict, JSON.stringify(verdict)).toSatisfy(isExact)
    expect(verdict.in_events_raw).toBe(verdict.acknowledged)
  })
})
