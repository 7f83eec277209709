import { describeWithFleet } from '@tributary/testing/fleet/describe-with-fleet'
import { startFlow } from '@tributary/testing/fleet/flow'
import { roundsOf } from '@tributary/testing/rounds'
import { isExact, verifyEvents } from '@tributary/testing/verify-events'
import { expect, it, vi } from 'vitest'

const patience = { timeout: 180_000, interval: 100 }
const rounds = roundsOf(1)

await describeWithFleet({ writers: 2 }, (fleet) => {
  it('writes every event exactly once while writers come and go', async () => {
    const flow = startFlow(fleet.broker)
    for (let round = 0; round < rounds; round += 1) {
      for (const writer of fleet.writers) {
        const { committed } = await fleet.progress()
        await vi.waitFor(async () => expect((await fleet.progress()).committed).toBeGreaterThan(committed), patience)
        expect(await writer.stop()).toBe(0)
        await writer.restart()
      }
    }
    await flow.stop()
    await fleet.untilWritten()

    const verdict = await verifyEvents(fleet.clickhouse, flow.acknowledged, [])
    expect(verdict, JSON.stringify(verdict)).toSatisfy(isExact)
    expect(verdict.in_events_raw).toBe(verdict.acknowledged)
  })
})
