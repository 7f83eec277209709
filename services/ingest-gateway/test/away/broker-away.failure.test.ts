import { execFileSync } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { describeWithFleet } from '@tributary/testing/fleet/describe-with-fleet'
import { startLoad } from '@tributary/testing/fleet/load'
import type { Answer } from '@tributary/testing/fleet/requests'
import { isExact, verifyEvents } from '@tributary/testing/verify-events'
import { expect, it, vi } from 'vitest'

const patience = { timeout: 180_000, interval: 50 }
/** Twice as long as a publish may take (`kafkaTimeouts.publish_ms_max`), and more. */
const away_ms = 12_000
/** Buffered records and the requests that wait with them; without bounds the load would pass this in seconds. */
const growth_mb_max = 200

await describeWithFleet({ gateways: 1, writers: 1 }, (fleet) => {
  it('answers 503 with Retry-After and bounded memory while Kafka is away, recovers alone and loses nothing', async () => {
    const [gateway] = fleet.gateways
    const answers: (Answer | null)[] = []
    const load = startLoad({
      tenants: fleet.tenants,
      gateways: [gateway!.url],
      clients: 64,
      events_per_second: 3000,
      onAnswer: (answer) => answers.push(answer),
    })
    await vi.waitFor(() => expect(load.acknowledged_events()).toBeGreaterThan(2000), patience)

    const resident_mb = [residentMegabytes(gateway!.pid())]
    await fleet.engine('kafka').kill()
    const away_from = answers.length
    for (const until = Date.now() + away_ms; Date.now() < until || answers.length < away_from + 192; await pause(500)) {
      resident_mb.push(residentMegabytes(gateway!.pid()))
    }
    const refused = answers.slice(away_from)
    await fleet.engine('kafka').restart()
    const before = load.acknowledged_events()
    await vi.waitFor(() => expect(load.acknowledged_events()).toBeGreaterThan(before + 2000), patience)
    await load.stop()
    await fleet.untilWritten()

    expect(refused.length).toBeGreaterThanOrEqual(192)
    // The first may have been on their way when the broker went.
    const late = refused.slice(64)
    expect(late.map((answer) => answer?.status)).toEqual(late.map(() => 503))
    expect(late.every((answer) => (answer?.retry_after_s ?? 0) > 0)).toBe(true)
    expect(Math.max(...resident_mb) - resident_mb[0]!).toBeLessThan(growth_mb_max)
    expect(gateway!.lives()).toBe(true)
    const verdict = await verifyEvents(fleet.clickhouse, load.acknowledged, [...load.unanswered])
    expect(verdict, JSON.stringify(verdict)).toSatisfy(isExact)
  })
})

const residentMegabytes = (pid: number): number =>
  Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)]).toString()) / 1024
