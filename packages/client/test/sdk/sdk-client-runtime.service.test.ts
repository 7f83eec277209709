import { getEventListeners } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
import { createSdkClient } from '../../src/sdk-client.ts'
import { type EventStorage, memoryStorage } from '../../src/storage.ts'
import { type JsonObject, until } from '../hostile-service.ts'
import { keys, openSdkClient, some, track } from './open-sdk-client.ts'

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

  it('sends from memory when storage fails, and reports the failure', async () => {
    let full = false
    const storage = broken((method) => full && method !== 'get')
    const { client, errors, shelf } = await openSdkClient(undefined, { storage })
    await client.installUuid()
    full = true
    await track(client, some(3))
    expect(await client.trackInstall()).toBe(true)
    expect(await client.close()).toEqual({ pending: 0 })
    expect(shelf.events.size).toBe(4)
    expect(new Set(errors)).toEqual(new Set(['storage_failed']))
  })

  it('waits until storage can be read, and makes no second install', async () => {
    let locked = true
    let reads = 0
    const storage = broken((method) => {
      reads += 1
      return locked && method === 'get'
    })
    const { client, connect, shelf } = await openSdkClient(undefined, { storage })
    const tracked = client.track({ event_name: 'early' })
    await until(() => reads > 3)
    expect(shelf.events.size).toBe(0)
    locked = false
    await tracked
    await client.close()
    expect(await connect().installUuid()).toBe([...shelf.events.values()][0]?.install_uuid)
  })

  it('waits for storage without leaving listeners behind', async () => {
    const listening = vi.spyOn(EventTarget.prototype, 'addEventListener')
    let reads = 0
    const storage = broken((method) => {
      reads += 1
      return method === 'get'
    })
    const { client } = await openSdkClient(undefined, { storage, backoff: { first_pause_ms: 1, pause_ms_max: 1 } })
    await until(() => reads > 30)
    const signals = listening.mock.contexts.filter((target) => target instanceof AbortSignal)
    listening.mockRestore()
    const left = signals.map((signal) => getEventListeners(signal, 'abort').length)
    expect(left.length).toBeGreaterThan(0)
    expect(Math.max(...left)).toBeLessThan(3)
    await client.close({ timeout_ms: 20 })
  })

  it('closes, and reports the events that it could not store', async () => {
    const { client, rejected } = await openSdkClient(undefined, { storage: broken(() => true) })
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
    const { client, rejected, shelf } = await openSdkClient(undefined, {
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

  it.each([
    { url: 'ftp://x' },
    { app_key: '' },
    { company_key: 'a\nb' },
    { signing_secret: '' },
    { storage: undefined },
    { storage: { get: () => null } },
  ])('refuses options that can never work: %o', async (wrong) => {
    const options = { ...keys, url: 'http://127.0.0.1', storage: memoryStorage(), ...wrong }
    expect(() => createSdkClient(options as never)).toThrow(expect.objectContaining({ code: 'bad_options' }))
  })
})
