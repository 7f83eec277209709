import { describe, expect, it } from 'vitest'
import { eventsOf, type Reply, until } from '../hostile-service.ts'
import { noise, openSdkClient, some, track } from './open-sdk-client.ts'

describe('a failed event', () => {
  it.each<[string, Reply]>([
    ['503', { status: 503, body: { error: 'audit_write_failed' } }],
    ['500 without a body', { status: 500 }],
    ['408', { status: 408 }],
    ['429 at once', { status: 429, body: { error: 'rate_limited' }, headers: { 'retry-after': '0' } }],
    ['429 of a used-up quota', { status: 429, body: { error: 'cap_exceeded' } }],
    ['401 of a suspended company', { status: 401, body: { error: 'company_suspended' } }],
    ['a cut connection', { status: 0, cut: true }],
    ["a hotel's login page", { status: 200, body: '<html>Welcome</html>' }],
    ['a redirect to a login page', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }],
    ['results of other events', { status: 200, body: { results: [{ event_id: 'x', status: 'accepted' }] } }],
    ['too few results', { status: 200, body: { results: [] } }],
  ])('is retried under the same id until it is answered: %s', async (_, reply) => {
    const { client, received, shelf, rejected } = await openSdkClient((_events, n) => (n < 4 ? reply : null), {
      flush_interval_ms: 5,
    })
    const event_id = await client.track({ event_name: 'a' })
    expect(await client.flush()).toEqual({ pending: 1 })
    await until(() => shelf.events.size === 1)
    const sent = received.slice(0, 5).flatMap((one) => eventsOf(one).map((event) => event.event_id))
    expect(sent).toEqual(Array(5).fill(event_id))
    await client.track({ event_name: 'b' })
    await until(() => shelf.events.size === 2)
    await client.close()
    expect(received).toHaveLength(6)
    expect(rejected).toEqual([])
  })

  it('of a suspended company waits in a bounded queue, and what is left is sent once the company is back', async () => {
    let suspended = true
    const { client, shelf, rejected } = await openSdkClient(
      () => (suspended ? { status: 401, body: { error: 'company_suspended' } } : null),
      { queue_events_max: 4 },
    )
    await client.trackInstall()
    for (const event of some(9)) {
      await client.track(event)
      await client.flush()
    }
    expect(rejected.map(({ reason }) => reason)).toEqual(Array(6).fill('queue_full'))
    suspended = false
    await until(() => shelf.events.size === 4)
    const kept = [...shelf.events.values()].map(({ event_name, props }) => (props as { n?: number }).n ?? event_name)
    expect(kept.sort()).toEqual([6, 7, 8, 'app_install'])
    expect(await client.close()).toEqual({ pending: 0 })
  })

  it('counts once when its answer was lost', async () => {
    const { client, shelf } = await openSdkClient((events, n, taken) => {
      if (n > 0) return null
      taken.take(events)
      return { status: 0, cut: true }
    })
    const ids = await track(client, some(30))
    await until(() => shelf.events.size === 30)
    expect(await client.close()).toEqual({ pending: 0 })
    expect(shelf.ids()).toEqual(ids)
  })

  it('waits for Retry-After, even when flush is called', async () => {
    const { client, received, shelf } = await openSdkClient((_, n) => {
      return n === 0 ? { status: 429, body: { error: 'rate_limited' }, headers: { 'retry-after': '1' } } : null
    })
    await client.track({ event_name: 'a' })
    await client.flush()
    expect(await client.flush()).toEqual({ pending: 1 })
    await until(() => shelf.events.size === 1)
    expect(received[1]!.at_ms - received[0]!.at_ms).toBeGreaterThan(980)
  })

  it('is reported and dropped when it is rejected, and the accepted ones of its batch are not sent again', async () => {
    const { client, received, rejected, shelf } = await openSdkClient()
    const ids = await track(client, [{ event_name: 'a' }, { event_name: 'b', bad: true }, { event_name: 'c' }])
    expect(await client.flush()).toEqual({ pending: 0 })
    expect(rejected).toMatchObject([{ event: { event_id: ids[1] }, reason: 'invalid_field', field: 'bad' }])
    await client.track({ event_name: 'd' })
    await client.flush()
    expect(received.map((one) => eventsOf(one).length)).toEqual([3, 1])
    expect(shelf.events.size).toBe(3)
  })

  it.each([400, 401, 403, 404])(
    'is reported and dropped when its whole request is finally refused: %i',
    async (status) => {
      const { client, received, rejected, errors } = await openSdkClient((_, n) =>
        n === 0 ? { status, body: { error: 'unknown_app_key' } } : null,
      )
      await track(client, some(2))
      expect(await client.flush()).toEqual({ pending: 0 })
      expect(rejected.map(({ reason }) => reason)).toEqual(['unknown_app_key', 'unknown_app_key'])
      expect(errors).toEqual(['unknown_app_key'])
      await client.track({ event_name: 'later' })
      await client.flush()
      expect(received).toHaveLength(2)
    },
  )

  it('is dropped without its batch when it alone is too large for a proxy', async () => {
    const { client, rejected, shelf } = await openSdkClient((_e, _n, _s, { body }) =>
      body.length > 4000 ? { status: 413, body: '<html>' } : null,
    )
    await track(client, [...some(20), { event_name: 'huge', blob: noise(6000) }, ...some(20)])
    expect(await client.flush()).toEqual({ pending: 0 })
    expect(rejected).toMatchObject([{ event: { event_name: 'huge' }, reason: 'body_too_large' }])
    expect(shelf.events.size).toBe(40)
  })
})
