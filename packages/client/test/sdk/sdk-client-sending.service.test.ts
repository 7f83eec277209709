import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../src/storage.ts'
import { type JsonObject, until } from '../hostile-service.ts'
import { noise, openSdkClient, some, track } from './open-sdk-client.ts'

describe('a request', () => {
  it('is gzip from 10 events on, signed over the bytes of the wire, with the time of sending', async () => {
    const { client, received, shelf } = await openSdkClient()
    for (const count of [9, 10]) {
      await track(client, some(count))
      await client.flush()
    }
    expect(received.map(({ headers }) => headers['content-encoding'])).toEqual([undefined, 'gzip'])
    expect(received[0]?.headers).toMatchObject({
      'x-service-company-key': 'co_live_1',
      'x-service-app-key': 'app_live_1',
      'x-service-sdk': 'tributary-ts-0.1.0',
    })
    expect(Math.abs(Date.now() - JSON.parse(received[0]!.body.toString()).sent_at_ms)).toBeLessThan(60_000)
    expect(shelf.events.size).toBe(19)
  })

  it('carries each event as it was tracked, even if the clock or the objects change later', async () => {
    let now_ms = 1_780_000_000_000
    const { client, received, shelf } = await openSdkClient((_, n) => (n === 0 ? { status: 503 } : null), {
      now: () => now_ms,
    })
    const props = { level: 1 }
    const tracked = client.track({ event_name: 'level_up', props })
    props.level = 2
    now_ms += 5000
    const event_id = await tracked
    await client.flush()
    await client.flush()
    expect([...shelf.events.values()]).toMatchObject([
      { event_id, event_ts_ms: 1_780_000_000_000, props: { level: 1 } },
    ])
    expect(JSON.parse(received[1]!.body.toString()).sent_at_ms).toBe(1_780_000_005_000)
  })

  it.each([
    ['at most 500 events a request', 1300, {}, 3],
    ['at most 1 MiB on the wire, however badly it compresses', 300, { noise: true }, 2],
    ['at most 8 MiB inflated', 480, { zeros: '0'.repeat(40_000) }, 3],
  ])('is %s', async (_, count, more: JsonObject, requests_min) => {
    const { client, received, shelf, rejected } = await openSdkClient(undefined, {
      flush_events: 10_000,
      queue_bytes_max: 1e9,
    })
    await track(
      client,
      some(count, more).map((event) => ('noise' in event ? { ...event, noise: noise(6000) } : event)),
    )
    expect(await client.flush()).toEqual({ pending: 0 })
    expect(shelf.events.size).toBe(count)
    expect(received.length).toBeGreaterThanOrEqual(requests_min)
    expect(Math.max(...received.map(({ body }) => body.length))).toBeLessThanOrEqual(1024 * 1024)
    expect(rejected).toEqual([])
  })

  it('is sent without flush and holds all waiting events', async () => {
    const { client, received, shelf } = await openSdkClient(undefined, { flush_interval_ms: 30 })
    await track(client, some(3))
    await until(() => shelf.events.size === 3)
    expect(received).toHaveLength(1)
    await track(client, some(25))
    await until(() => shelf.events.size === 28)
    expect(await client.close()).toEqual({ pending: 0 })
  })
})

it('an event is sent without flush, at whatever moment of another request it was tracked', async () => {
  const ran: Promise<void>[] = []
  for (let hops = 0; hops < 40; hops += 1) ran.push(trackAfter(hops))
  await Promise.all(ran)

  /** Tracks a second event `hops` microtasks after the first was removed, around the moment when the queue is empty. */
  async function trackAfter(hops: number): Promise<void> {
    const storage = memoryStorage()
    let again = true
    const { client, shelf } = await openSdkClient(undefined, {
      flush_events: 1,
      storage: {
        ...storage,
        async delete(key) {
          storage.delete(key)
          if (!again) return
          again = false
          void (async () => {
            for (let hop = 0; hop < hops; hop += 1) await null
            await client.track({ event_name: 'b' })
          })()
        },
      },
    })
    await client.track({ event_name: 'a' })
    await until(() => shelf.events.size === 2)
  }
})
