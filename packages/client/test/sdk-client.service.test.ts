import { describe, expect, it } from 'vitest'
import { createSdkClient } from '../src/sdk-client.ts'
import type { RejectedEvent, SdkClientOptions } from '../src/sdk-options.ts'
import { type EventStorage, memoryStorage } from '../src/storage.ts'
import {
  EventShelf,
  eventsOf,
  isSigned,
  type JsonObject,
  type Received,
  type Reply,
  startService,
  until,
} from './hostile-service.ts'

const signing_secret = 'c0ffee'.repeat(10)
const keys = { company_key: 'co_live_1', app_key: 'app_live_1', signing_secret }
/** Fast, and each pause as long as it may be. */
const backoff = { first_pause_ms: 5, pause_ms_max: 20, random: () => 1 }

/** A service that takes what is signed; `before` may answer instead, told how many requests came before this one. */
async function open(
  before: (events: JsonObject[], n: number, shelf: EventShelf, request: Received) => Reply | null = () => null,
  more: Partial<SdkClientOptions> = {},
) {
  const shelf = new EventShelf()
  let n = 0
  const { url, received } = await startService((request) => {
    if (!isSigned(request, signing_secret)) return { status: 401, body: { error: 'bad_signature' } }
    const events = eventsOf(request)
    return before(events, n++, shelf, request) ?? shelf.take(events)
  })
  const rejected: RejectedEvent[] = []
  const errors: string[] = []
  const storage = memoryStorage()
  const connect = (change: Partial<SdkClientOptions> = {}) =>
    createSdkClient({
      ...keys,
      url,
      storage,
      backoff,
      onRejected: (one) => rejected.push(one),
      onError: ({ code }) => errors.push(code),
      ...more,
      ...change,
    })
  return { client: connect(), connect, errors, received, rejected, shelf, storage }
}

const some = (count: number, more: JsonObject = {}) =>
  Array.from({ length: count }, (_, n) => ({ event_name: 'tap', props: { n }, ...more }))
const track = (client: ReturnType<typeof createSdkClient>, events: JsonObject[]) =>
  Promise.all(events.map((event) => client.track(event as { event_name: string })))
const noise = (bytes: number) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString('base64')

describe('what is sent', () => {
  it('is gzip from 10 events on, signed over the bytes of the wire, with the time of sending', async () => {
    const { client, received, shelf } = await open()
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

  it('has the ids and the time of the moment it was tracked, whatever happens to the clock and the objects', async () => {
    let now_ms = 1_780_000_000_000
    const { client, received, shelf } = await open((_, n) => (n === 0 ? { status: 503 } : null), { now: () => now_ms })
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
    const { client, received, shelf, rejected } = await open(undefined, {
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

  it('goes out by itself, together, without flush', async () => {
    const { client, received, shelf } = await open(undefined, { flush_interval_ms: 30 })
    await track(client, some(3))
    await until(() => shelf.events.size === 3)
    expect(received).toHaveLength(1)
    await track(client, some(25))
    await until(() => shelf.events.size === 28)
    expect(await client.close()).toEqual({ pending: 0 })
  })
})

it('is sent by itself at whatever moment of another request it was tracked', async () => {
  const ran: Promise<void>[] = []
  for (let hops = 0; hops < 40; hops += 1) ran.push(trackAfter(hops))
  await Promise.all(ran)

  /** Tracks a second event so many turns after the first was forgotten, around the moment the queue is empty. */
  async function trackAfter(hops: number): Promise<void> {
    const storage = memoryStorage()
    let again = true
    const { client, shelf } = await open(undefined, {
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

describe('what fails', () => {
  it.each<[string, Reply]>([
    ['503', { status: 503, body: { error: 'audit_write_failed' } }],
    ['500 without a body', { status: 500 }],
    ['408', { status: 408 }],
    ['429 at once', { status: 429, body: { error: 'rate_limited' }, headers: { 'retry-after': '0' } }],
    ['a cut connection', { status: 0, cut: true }],
    ['the login page of a hotel', { status: 200, body: '<html>Welcome</html>' }],
    ['a redirect to it', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }],
    ['results of other events', { status: 200, body: { results: [{ event_id: 'x', status: 'accepted' }] } }],
    ['too few results', { status: 200, body: { results: [] } }],
  ])('is sent again by itself under the same ids until it is answered: %s', async (_, reply) => {
    const { client, received, shelf, rejected } = await open((_events, n) => (n < 4 ? reply : null), {
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

  it('counts an event once whose answer was lost', async () => {
    const { client, shelf } = await open((events, n, taken) => {
      if (n > 0) return null
      taken.take(events)
      return { status: 0, cut: true }
    })
    const ids = await track(client, some(30))
    await until(() => shelf.events.size === 30)
    expect(await client.close()).toEqual({ pending: 0 })
    expect(shelf.ids()).toEqual(ids)
  })

  it('waits as long as Retry-After says, also when asked to flush', async () => {
    const { client, received, shelf } = await open((_, n) => {
      return n === 0 ? { status: 429, body: { error: 'rate_limited' }, headers: { 'retry-after': '1' } } : null
    })
    await client.track({ event_name: 'a' })
    await client.flush()
    expect(await client.flush()).toEqual({ pending: 1 })
    await until(() => shelf.events.size === 1)
    expect(received[1]!.at_ms - received[0]!.at_ms).toBeGreaterThan(980)
  })

  it('is told and dropped when it is rejected, and what was accepted beside it is not sent again', async () => {
    const { client, received, rejected, shelf } = await open()
    const ids = await track(client, [{ event_name: 'a' }, { event_name: 'b', bad: true }, { event_name: 'c' }])
    expect(await client.flush()).toEqual({ pending: 0 })
    expect(rejected).toMatchObject([{ event: { event_id: ids[1] }, reason: 'invalid_field', field: 'bad' }])
    await client.track({ event_name: 'd' })
    await client.flush()
    expect(received.map((one) => eventsOf(one).length)).toEqual([3, 1])
    expect(shelf.events.size).toBe(3)
  })

  it.each([400, 401, 403, 404])('is dropped and told when a whole request is refused for good: %i', async (status) => {
    const { client, received, rejected, errors } = await open((_, n) =>
      n === 0 ? { status, body: { error: 'company_suspended' } } : null,
    )
    await track(client, some(2))
    expect(await client.flush()).toEqual({ pending: 0 })
    expect(rejected.map(({ reason }) => reason)).toEqual(['company_suspended', 'company_suspended'])
    expect(errors).toEqual(['company_suspended'])
    await client.track({ event_name: 'later' })
    await client.flush()
    expect(received).toHaveLength(2)
  })

  it('is halved for a proxy that takes less, so that one event is dropped and not its batch', async () => {
    const { client, rejected, shelf } = await open((_e, _n, _s, { body }) =>
      body.length > 4000 ? { status: 413, body: '<html>' } : null,
    )
    await track(client, [...some(20), { event_name: 'huge', blob: noise(6000) }, ...some(20)])
    expect(await client.flush()).toEqual({ pending: 0 })
    expect(rejected).toMatchObject([{ event: { event_name: 'huge' }, reason: 'body_too_large' }])
    expect(shelf.events.size).toBe(40)
  })
})

describe('what outlives the process', () => {
  it('is every event whose track resolved, in order, under its id', async () => {
    const away = await open(() => ({ status: 503 }))
    const ids = [...(await track(away.client, some(30))), ...(await track(away.client, some(3)))]
    expect(await away.client.close({ timeout_ms: 1 })).toEqual({ pending: 33 })

    const back = await open(undefined, { storage: away.storage })
    await until(() => back.shelf.events.size === 33)
    expect(back.shelf.ids()).toEqual(ids)
    await back.client.close()
    const third = back.connect()
    expect(await third.flush()).toEqual({ pending: 0 })
    expect(back.received).toHaveLength(1)
  })

  it('keeps its order when the clock of the device is set back', async () => {
    let now_ms = 1_780_000_000_000
    const away = await open(() => ({ status: 503 }), { now: () => now_ms })
    const ids = [await away.client.track({ event_name: 'a' })]
    await away.client.close()
    now_ms -= 86_400_000
    const next = away.connect()
    ids.push(await next.track({ event_name: 'b' }), await next.track({ event_name: 'c' }))
    await next.close()
    const back = await open(undefined, { storage: away.storage })
    await back.client.flush()
    expect(back.shelf.ids()).toEqual(ids)
  })

  it('is the install: one install_uuid, one app_install, its user', async () => {
    const { client, connect, shelf } = await open()
    expect(await client.trackInstall({ install_referrer: 'x' })).toBe(true)
    expect(await client.trackInstall()).toBe(false)
    await client.setUser('u1')
    await client.close()
    const next = connect()
    expect(await next.trackInstall()).toBe(false)
    await next.setUser('u1')
    await next.track({ event_name: 'a' })
    await next.setUser(null)
    await next.track({ event_name: 'b' })
    await next.setUser('u2')
    await next.close()
    const events = [...shelf.events.values()]
    expect(events.map(({ event_name, user_id }) => [event_name, user_id])).toEqual([
      ['app_install', undefined],
      ['_user_alias', 'u1'],
      ['a', 'u1'],
      ['b', undefined],
      ['_user_alias', 'u2'],
    ])
    expect(new Set(events.map(({ install_uuid }) => install_uuid))).toEqual(new Set([await client.installUuid()]))
  })

  it('is the minute between two crashes', async () => {
    let now_ms = 1_780_000_000_000
    const { client, connect, shelf } = await open(undefined, { now: () => now_ms })
    expect(await client.reportCrash(new TypeError('boom'), { screen: 'shop' })).toBe(true)
    now_ms += 59_999
    expect(await client.reportCrash(new Error('again'))).toBe(false)
    await client.close()
    const next = connect()
    expect(await next.reportCrash(new Error('again'))).toBe(false)
    now_ms += 1
    expect(await next.reportCrash('third')).toBe(true)
    await next.close()
    expect([...shelf.events.values()]).toMatchObject([
      {
        event_name: '_crash',
        props: { name: 'TypeError', message: 'boom', stack: expect.any(String), screen: 'shop' },
      },
      { event_name: '_crash', props: { message: 'third' } },
    ])
  })

  it('gives way to newer events when the queue is full, the install last', async () => {
    const { client, rejected, storage } = await open(() => ({ status: 503 }), {
      queue_events_max: 10,
      flush_interval_ms: 60_000,
    })
    await client.trackInstall()
    const ids: string[] = []
    for (const event of some(15)) ids.push(await client.track(event))
    expect(rejected.map(({ event, reason }) => [event.event_id, reason])).toEqual(
      ids.slice(0, 6).map((event_id) => [event_id, 'queue_full']),
    )
    expect(await client.close({ timeout_ms: 1 })).toEqual({ pending: 10 })
    expect((await storage.keys()).filter((key) => key.includes('.event.'))).toHaveLength(10)
    const back = await open(undefined, { storage })
    await back.client.flush()
    expect([...back.shelf.events.values()].map(({ event_name }) => event_name)).toEqual([
      'app_install',
      ...Array.from({ length: 9 }, () => 'tap'),
    ])
  })
})

it('an event on its way is not called lost when the queue overflows meanwhile', async () => {
  const answer = Promise.withResolvers<void>()
  const shelf = new EventShelf()
  const { url, received } = await startService(async (request) => {
    await answer.promise
    return shelf.take(eventsOf(request))
  })
  const rejected: unknown[] = []
  const client = createSdkClient({
    ...keys,
    url,
    storage: memoryStorage(),
    queue_events_max: 5,
    onRejected: ({ event }) => rejected.push(event.event_id),
  })
  const ids: string[] = []
  for (const event of some(4)) ids.push(await client.track(event))
  const flushed = client.flush()
  await until(() => received.length === 1)
  for (const event of some(4)) ids.push(await client.track(event))
  answer.resolve()
  await flushed
  await client.close()
  expect([...shelf.ids(), ...rejected].sort()).toEqual([...ids].sort())
})

describe('a hostile runtime', () => {
  const broken = (fails: (method: keyof EventStorage) => boolean): EventStorage => {
    const storage = memoryStorage()
    const or = <A extends unknown[], R>(method: keyof EventStorage, work: (...args: A) => R) => {
      return (...args: A): R => {
        if (fails(method)) throw new Error('disk full')
        return work(...args)
      }
    }
    return {
      get: or('get', storage.get),
      set: or('set', storage.set),
      delete: or('delete', storage.delete),
      keys: or('keys', storage.keys),
    }
  }

  it('sends from memory what storage does not take, and tells so', async () => {
    let full = false
    const storage = broken((method) => full && method !== 'get')
    const { client, errors, shelf } = await open(undefined, { storage })
    await client.installUuid()
    full = true
    await track(client, some(3))
    expect(await client.trackInstall()).toBe(true)
    expect(await client.close()).toEqual({ pending: 0 })
    expect(shelf.events.size).toBe(4)
    expect(new Set(errors)).toEqual(new Set(['storage_failed']))
  })

  it('waits for a storage that can not be read yet, and makes no second install of it', async () => {
    let locked = true
    const storage = broken((method) => locked && method === 'get')
    const { client, connect, shelf } = await open(undefined, { storage })
    const tracked = client.track({ event_name: 'early' })
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(shelf.events.size).toBe(0)
    locked = false
    await tracked
    await client.close()
    expect(await connect().installUuid()).toBe([...shelf.events.values()][0]?.install_uuid)
  })

  it('ends, and says what it could not keep', async () => {
    const { client, rejected } = await open(undefined, { storage: broken(() => true) })
    const tracked = client.track({ event_name: 'early' })
    await client.close({ timeout_ms: 20 })
    await tracked
    await client.track({ event_name: 'late' })
    expect(rejected.map(({ event, reason }) => [event.event_name, reason])).toEqual([
      ['early', 'closed'],
      ['late', 'closed'],
    ])
  })

  it('never throws into the app', async () => {
    const { client, rejected, shelf } = await open(undefined, {
      onError: () => {
        throw new Error('in the app')
      },
    })
    const cycle: JsonObject = {}
    cycle.self = cycle
    await client.track({ event_name: 'a', props: cycle })
    await client.track({ event_name: 'b', props: { big: 1n } })
    await client.track({ event_name: 'c', install_uuid: 'forged', __proto__: null })
    await client.reportCrash(null)
    await client.setUser('')
    expect(await client.close()).toEqual({ pending: 0 })
    expect(rejected.map(({ reason }) => reason)).toEqual(['no_json', 'no_json'])
    expect([...shelf.events.values()].map((event) => event.install_uuid)).not.toContain('forged')
  })

  it.each([{ url: 'ftp://x' }, { app_key: '' }, { company_key: 'a\nb' }, { signing_secret: '' }])(
    'refuses options that can never work: %o',
    async (wrong) => {
      const options = { ...keys, url: 'http://127.0.0.1', storage: memoryStorage(), ...wrong }
      expect(() => createSdkClient(options)).toThrow(expect.objectContaining({ code: 'bad_options' }))
    },
  )
})
