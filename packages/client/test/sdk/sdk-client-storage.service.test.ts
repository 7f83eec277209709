import { describe, expect, it } from 'vitest'
import { createSdkClient } from '../../src/sdk-client.ts'
import { memoryStorage } from '../../src/storage.ts'
import { EventShelf, eventsOf, startService, until } from '../hostile-service.ts'
import { keys, openSdkClient, some, track } from './open-sdk-client.ts'

describe('storage', () => {
  it('keeps every event whose track resolved, in order, under its id', async () => {
    const away = await openSdkClient(() => ({ status: 503 }))
    const ids = [...(await track(away.client, some(30))), ...(await track(away.client, some(3)))]
    expect(await away.client.close({ timeout_ms: 1 })).toEqual({ pending: 33 })

    const back = await openSdkClient(undefined, { storage: away.storage })
    await until(() => back.shelf.events.size === 33)
    expect(back.shelf.ids()).toEqual(ids)
    await back.client.close()
    const third = back.connect()
    expect(await third.flush()).toEqual({ pending: 0 })
    expect(back.received).toHaveLength(1)
  })

  it('keeps the order when the clock of the device is set back', async () => {
    let now_ms = 1_780_000_000_000
    const away = await openSdkClient(() => ({ status: 503 }), { now: () => now_ms })
    const ids = [await away.client.track({ event_name: 'a' })]
    await away.client.close()
    now_ms -= 86_400_000
    const next = away.connect()
    ids.push(await next.track({ event_name: 'b' }), await next.track({ event_name: 'c' }))
    await next.close()
    const back = await openSdkClient(undefined, { storage: away.storage })
    await back.client.flush()
    expect(back.shelf.ids()).toEqual(ids)
  })

  it('keeps the install: one install_uuid, one app_install, its user', async () => {
    const { client, connect, shelf } = await openSdkClient()
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

  it('keeps the minute between two crashes', async () => {
    let now_ms = 1_780_000_000_000
    const { client, connect, shelf } = await openSdkClient(undefined, { now: () => now_ms })
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

  it('drops the oldest events when the queue is full, the install last', async () => {
    const { client, rejected, storage } = await openSdkClient(() => ({ status: 503 }), {
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
    const back = await openSdkClient(undefined, { storage })
    await back.client.flush()
    expect([...back.shelf.events.values()].map(({ event_name }) => event_name)).toEqual([
      'app_install',
      ...Array.from({ length: 9 }, () => 'tap'),
    ])
  })
})

it('an event in an open request is not reported as lost when the queue overflows', async () => {
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
