import { describeWithFleet } from '@tributary/testing/fleet/describe-with-fleet'
import { startFlow } from '@tributary/testing/fleet/flow'
import { isExact, verifyEvents } from '@tributary/testing/verify-events'
import { expect, it, vi } from 'vitest'

const patience = { timeout: 180_000, interval: 100 }

// One fleet, because its start costs more than each of these stories.
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

  it('goes on by itself after a restart of the broker, and writes every event exactly once', async () => {
    await fleet.startWriter()
    const flow = startFlow(fleet.broker)
    await untilMore()
    await fleet.engine('kafka').kill()
    await fleet.engine('kafka').restart()
    await untilMore()
    await flow.stop()
    await fleet.untilWritten()

    expect(fleet.writers.every((writer) => writer.lives())).toBe(true)
    const verdict = await verifyEvents(fleet.clickhouse, flow.acknowledged, [])
    expect(verdict, JSON.stringify(verdict)).toSatisfy(isExact)
  })

  async function untilMore() {
    const { committed } = await vi.waitFor(() => fleet.progress(), patience)
    await vi.waitFor(async () => expect((await fleet.progress()).committed).toBeGreaterThan(committed), patience)
  }
})
