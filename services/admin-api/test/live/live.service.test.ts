import { randomUUID } from 'node:crypto'
import { type FeedWrite, feedKey, refusalsKey, watched_key } from '@tributary/contracts/admin/live/feed'
import type { LiveMessage } from '@tributary/contracts/admin/live/live'
import { limits } from '@tributary/contracts/limits'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { describe, expect, it, vi } from 'vitest'
import { adminApp } from '../admin-app.ts'
import { type Browser, peopleWorld } from '../people/people-world.ts'
import { patience, streamsOf } from './open-stream.ts'

let passed_ms = 0
const keyValue = memoryKeyValue(() => Date.now() + passed_ms)
const { pool, listen, newApp, query, signedIn, ask } = peopleWorld({ keyValue })
const openLive = streamsOf(listen)
const openStream = (app_id: string, as: Browser | null, filter = '', at?: Promise<string>) =>
  openLive<LiveMessage>(`/apps/${app_id}/live${filter}`, as, at)

type Item = FeedWrite['items'][number]
const item = (change: Partial<Item> = {}): Item => ({
  ...{ kind: 'accepted', at_ms: 1, route: '/event', request_id: 'r', code: null, field: null, message: null },
  ...{ event_name: 'level', unproven: false, install_uuid: 'i-1', event_id: 'e-1', ip: '192.0.2.7', raw: '{"a":1}' },
  ...change,
})

/** A gateway that writes to the feed of an app. */
function gatewayOf(app_id: string) {
  const from = randomUUID()
  let total = 0
  return async (items: Item[], left_out = 0) => {
    const before = total
    total += items.length + left_out
    await keyValue.append(feedKey(app_id), JSON.stringify({ from, before, total, items }), 256, 60_000)
  }
}

const gapOf = (messages: LiveMessage[]) =>
  messages.reduce((sum, message) => sum + (message.kind === 'gap' ? message.gap : 0), 0)
const shownOf = (messages: LiveMessage[]) => messages.filter(({ kind }) => kind !== 'gap' && kind !== 'end')

describe('the live view of an app', () => {
  it('shows what comes in: JSON and addresses to owners and admins, less to others', async () => {
    const { app_id, company_id } = await newApp()
    const write = gatewayOf(app_id)
    const admin = await openStream(app_id, await signedIn('admin', company_id))
    const analyst = await openStream(app_id, await signedIn('analyst', company_id))
    expect(admin).toMatchObject({ status: 200, type: 'text/event-stream; charset=utf-8' })
    await write([item()])
    await admin.until((messages) => expect(messages).toEqual([item()]))
    const { ip: _ip, raw: _raw, ...limited } = item()
    await analyst.until((messages) => expect(messages).toEqual([limited]))
  })

  it('is that of one app: a foreign or unknown one is 404, also for operators and limited roles', async () => {
    const { app_id, company_id } = await newApp()
    const foreign = await newApp()
    const second = (await ask('POST', '/apps', { company_id, name: 'Second', platform: 'android' })).body
    const analyst = await signedIn('analyst', company_id, { app_ids: [app_id] })
    for (const [browser, id] of [
      [analyst, foreign.app_id],
      [analyst, second.app_id],
      [analyst, 'none'],
      [await signedIn('operator'), app_id],
      [await signedIn('privacy', company_id), app_id],
      [null, 'none'],
    ] as const) {
      const stream = await openStream(id, browser)
      expect({ id, status: stream.status }).toEqual({ id, status: 404 })
    }
    expect(await openStream(app_id, analyst)).toMatchObject({ status: 200 })
  })

  it('filters before it cuts to 50 a second, and counts exactly what it leaves out', async () => {
    const { app_id } = await newApp()
    const write = gatewayOf(app_id)
    const all = await openStream(app_id, null)
    const one = await openStream(app_id, null, '?install=mine&name=level')
    const rejected = await openStream(app_id, null, '?code=invalid_field')
    const others = Array.from({ length: 400 }, (_, n) => item({ event_id: `o-${n}` }))
    await write([...others, item({ install_uuid: 'mine', event_id: 'm' })], 1000)
    await write([
      item({ install_uuid: 'mine', event_name: 'other' }),
      item({ kind: 'rejected', code: 'invalid_field' }),
    ])
    await all.until((messages) => expect(shownOf(messages).length + gapOf(messages)).toBe(1403))
    expect(shownOf(all.messages()).length).toBeLessThanOrEqual(2 * limits.live_events_per_s_max)
    expect(shownOf(all.messages()).length).toBeGreaterThanOrEqual(limits.live_events_per_s_max)
    await one.until((messages) => expect(shownOf(messages)).toEqual([item({ install_uuid: 'mine', event_id: 'm' })]))
    await rejected.until((messages) => expect(shownOf(messages)).toHaveLength(1))
    expect([gapOf(one.messages()), gapOf(rejected.messages())]).toEqual([1000, 1000])
  })

  it('keeps some of its seconds for what a signature proves', async () => {
    const { app_id } = await newApp()
    const stream = await openStream(app_id, null)
    const strangers = Array.from({ length: 200 }, () =>
      item({ kind: 'refused', code: 'bad_signature', unproven: true }),
    )
    await gatewayOf(app_id)([...strangers, item()])
    await stream.until((messages) => expect(messages).toContainEqual(item()))
    expect(shownOf(stream.messages()).length + gapOf(stream.messages())).toBe(201)
  })

  it('counts what the feed lost while the store was away', async () => {
    const { app_id } = await newApp()
    const write = gatewayOf(app_id)
    const stream = await openStream(app_id, null)
    await write([item()])
    await stream.until((messages) => expect(shownOf(messages)).toHaveLength(1))
    keyValue.fault = new Error('away')
    await expect(write([item()], 4)).rejects.toThrow('away')
    keyValue.fault = null
    await write([item()])
    await stream.until((messages) => expect([shownOf(messages).length, gapOf(messages)]).toEqual([2, 5]))
  })

  it('begins with the kept refusals of a day that fit its filter', async () => {
    const { app_id } = await newApp()
    const kept = { ...item(), kind: 'kept', code: 'bad_signature' }
    const { refusals_kept_max: max, refusals_kept_ms: ttl } = limits
    for (let n = 0; n < 30; n += 1)
      await keyValue.append(refusalsKey(app_id, 'bad_signature', true), JSON.stringify({ ...kept, at_ms: n }), max, ttl)
    await keyValue.append(
      refusalsKey(app_id, 'cap_exceeded', false),
      JSON.stringify({ ...kept, code: 'cap_exceeded' }),
      max,
      ttl,
    )
    const read = async (filter: string) => {
      const stream = await openStream(app_id, null, `?seconds=0${filter}`)
      await stream.until(() => expect(stream.ended).toBe(true))
      expect(stream.messages().at(-1)).toEqual({ kind: 'end', reason: 'over' })
      return stream.messages().slice(0, -1)
    }
    const all = await read('')
    expect(all).toHaveLength(max + 1)
    const newest = Array.from({ length: max }, (_, n) => 30 - max + n)
    expect(all.flatMap((one) => (one.kind === 'kept' && one.code === 'bad_signature' ? one.at_ms : []))).toEqual(newest)
    expect(await read('&code=cap_exceeded')).toHaveLength(1)
    passed_ms += ttl
    await vi.waitFor(async () => expect(await read('')).toEqual([]), patience)
  })
})

describe('a live stream', () => {
  it('ends within moments with its session, and when its person gets other roles', async () => {
    const { app_id, company_id } = await newApp()
    const [left, lowered, stays] = await Promise.all(
      [1, 2, 3].map(async () => {
        const browser = await signedIn('admin', company_id)
        return { browser, stream: await openStream(app_id, browser) }
      }),
    )
    await left!.browser.ask('POST', '/sign-out')
    await query(
      "UPDATE memberships SET role = 'analyst' FROM people p WHERE memberships.person_id = p.person_id AND p.email = $1",
      [lowered!.browser.email],
    )
    await left!.stream.until(() => expect(left!.stream.ended).toBe(true))
    await lowered!.stream.until(() => expect(lowered!.stream.ended).toBe(true))
    expect(left!.stream.messages()).toEqual([{ kind: 'end', reason: 'session_ended' }])
    expect(lowered!.stream.messages()).toEqual([{ kind: 'end', reason: 'rights_changed' }])
    expect(stays!.stream.ended).toBe(false)
  })

  it('is one of few of a session', async () => {
    const { app_id, company_id } = await newApp()
    const browser = await signedIn('analyst', company_id)
    for (let n = 0; n < limits.live_streams_of_session_max; n += 1)
      expect(await openStream(app_id, browser)).toMatchObject({ status: 200 })
    const refused = await openStream(app_id, browser)
    expect(refused.status).toBe(429)
  })

  it('has its app watched until its last viewer has gone', async () => {
    const [gone, stays] = [await newApp(), await newApp()]
    const [first, second] = [await openStream(gone.app_id, null), await openStream(gone.app_id, null)]
    await openStream(stays.app_id, null)
    const named = async () => JSON.parse((await keyValue.read(watched_key, 0, 1)).texts[0]!) as string[]
    first.answer.destroy()
    await vi.waitFor(async () => expect(await named()).toEqual([gone.app_id, stays.app_id]), patience)
    second.answer.destroy()
    await vi.waitFor(async () => expect(await named()).toEqual([stays.app_id]), patience)
  })

  it('ends when the service stops', async () => {
    const { app_id } = await newApp()
    const app = await adminApp(pool(), { keyValue })
    const stream = await openStream(app_id, null, '', app.listen({ port: 0, host: '127.0.0.1' }))
    await app.close()
    await stream.until(() => expect(stream.ended).toBe(true))
    expect(stream.messages()).toEqual([{ kind: 'end', reason: 'unavailable' }])
  })
})
