import { probePort } from '@tributary/testing/engines/ports'
import { describeWithFleet } from '@tributary/testing/fleet/describe-with-fleet'
import { makeDevice } from '@tributary/testing/fleet/events'
import { startLoad } from '@tributary/testing/fleet/load'
import { post, sdkRequest } from '@tributary/testing/fleet/requests'
import { countLoggedEvents } from '@tributary/testing/standalone/logged-events'
import { expect, it, vi } from 'vitest'

const patience = { timeout: 180_000, interval: 50 }

await describeWithFleet({ gateways: 1 }, (fleet) => {
  it('answers on SIGTERM every request that it has, takes no new one, and ends with code 0', async () => {
    const [gateway, [tenant]] = [fleet.gateways[0]!, fleet.tenants]
    const request = () => sdkRequest(tenant!, makeDevice().nextBatch(10))
    await post(gateway.url, request())
    await fleet.engine('s3').pause()
    const inFlight = Array.from({ length: 20 }, () => post(gateway.url, request()))
    await vi.waitFor(async () => expect(await requestsInFlight(gateway.url)).toBe(20), patience)

    const ended = gateway.stop()
    await vi.waitFor(() => expect(probePort(Number(new URL(gateway.url).port))).rejects.toThrow(), patience)
    expect(gateway.lives()).toBe(true)
    fleet.engine('s3').resume()
    const answers = await Promise.all(inFlight)
    expect(answers).toEqual(answers.map(() => ({ status: 200, error: null, retry_after_s: null })))
    expect(await ended).toBe(0)
    expect(await countLoggedEvents(fleet.broker)).toBe(21 * 10)
  })

  it('has answered 200 to everything that is in the log when it ends under load', async () => {
    const [gateway] = fleet.gateways
    await gateway!.restart()
    const before = await countLoggedEvents(fleet.broker)
    const load = startLoad({
      tenants: fleet.tenants,
      gateways: [gateway!.url],
      clients: 16,
      events_per_second: 1e6,
      again: false,
    })
    await vi.waitFor(() => expect(load.acknowledged_events()).toBeGreaterThan(2000), patience)
    expect(await gateway!.stop()).toBe(0)
    await load.stop()
    expect(await countLoggedEvents(fleet.broker)).toBe(before + load.acknowledged_events())
  })
})

async function requestsInFlight(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  return Number(/^tributary_ingest_requests_in_flight (\d+)/m.exec(metrics)?.[1])
}
