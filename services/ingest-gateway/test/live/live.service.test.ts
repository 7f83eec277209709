import { gzipSync } from 'node:zlib'
import { type FeedWrite, feedKey, refusalsKey, watched_key } from '@tributary/contracts/admin/live/feed'
import { limits } from '@tributary/contracts/limits'
import { sdkEvent as newEvent } from '@tributary/testing/builders'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type Gateway, openGateway } from '../gateway.ts'
import { patience } from '../gateway-over.ts'

/** A gateway, and what it shows of its apps. */
async function openShown() {
  const gateway = await openGateway()
  const { app, keyValue } = gateway
  onTestFinished(() => app.close())
  const writesOf = async (app_id = gateway.tenant.app.app_id): Promise<FeedWrite[]> =>
    (await keyValue.read(feedKey(app_id), 0, 10_000)).texts.map((text) => JSON.parse(text))
  /** Resolves when the gateway knows that the app is watched. What this returns waits for so many more events and refusals. */
  async function watch(app_id = gateway.tenant.app.app_id) {
    const announce = () => void keyValue.append(watched_key, JSON.stringify([app_id]), 10, 60_000).catch(() => {})
    announce()
    const announcing = setInterval(announce, 200)
    onTestFinished(() => clearInterval(announcing))
    const { read } = keyValue
    await new Promise((resolve) => {
      keyValue.read = async (key, ...range) => {
        const found = await read(key, ...range)
        if (key === watched_key && found.texts.length > 0) setImmediate(resolve)
        return found
      }
    })
    return async (sent: number) => {
      await vi.waitFor(
        async () => expect((await writesOf(app_id)).at(-1)?.total).toBeGreaterThanOrEqual(sent),
        patience,
      )
      const writes = await writesOf(app_id)
      expect(writes.at(-1)?.total).toBe(sent)
      return writes.flatMap(({ items }) => items)
    }
  }
  const keptOf = async (code: string, unproven = false) =>
    (await keyValue.read(refusalsKey(gateway.tenant.app.app_id, code, unproven), 0, 1000)).texts
  return { ...gateway, watch, writesOf, keptOf }
}

/** An event of the time that the gateway of these tests has. */
const sdkEvent = (change: object = {}) => newEvent({ event_ts_ms: Date.UTC(2026, 5, 1, 12), ...change })
const batch = (...events: unknown[]) => JSON.stringify({ events })

describe('the live feed', () => {
  it('gets nothing while nobody watches, or somebody watches another app', async () => {
    const { event, watch, writesOf, tenant, sibling } = await openShown()
    const shown = await watch()
    await event(batch(sdkEvent()), {}, sibling)
    await event(batch(sdkEvent()), {}, tenant)
    await shown(1)
    expect(await writesOf(sibling.app.app_id)).toEqual([])
  })

  it('shows accepted and rejected events with code, field, and JSON without receipts and secrets', async () => {
    const { event, s2s, watch } = await openShown()
    const shown = await watch()
    const good = sdkEvent({ receipt: 'MIIT-secret', props: { access_token: 'very-secret', level: 3 } })
    const bad = sdkEvent({ revenue: 'much' })
    const body = gzipSync(batch(good, bad))
    await event(body, { 'content-encoding': 'gzip' })
    await s2s('/s2s/event', sdkEvent({ event_name: 'one' }))
    await s2s('/s2s/events/bulk', { events: [sdkEvent({ event_name: 'many' }), 17] })
    const items = await shown(5)
    const { event_id, install_uuid, event_name } = good
    expect(items).toContainEqual(
      expect.objectContaining({ kind: 'accepted', event_id, install_uuid, event_name, code: null, ip: '127.0.0.1' }),
    )
    expect(items).toContainEqual(
      expect.objectContaining({ kind: 'rejected', event_id: bad.event_id, code: 'invalid_field', field: 'revenue' }),
    )
    expect(items.filter(({ kind }) => kind === 'accepted').map((item) => item.event_name)).toEqual(
      expect.arrayContaining(['one', 'many']),
    )
    expect(items.filter(({ kind }) => kind === 'rejected')).toHaveLength(2)
    expect(JSON.stringify(items)).toContain('level')
    expect(JSON.stringify(items)).not.toContain('secret')
  })

  it('shows each refusal of a whole request, and marks what no signature proves', async () => {
    const { event, s2s, call, tenant, watch } = await openShown()
    const shown = await watch()
    await event(batch(sdkEvent()), { 'x-service-signature': 'f'.repeat(64), 'x-request-id': 'buy-now' })
    await event(Buffer.from('no gzip'), { 'content-encoding': 'gzip' })
    await event('{', { 'x-request-id': 'own' })
    await s2s('/s2s/event', sdkEvent({ revenue: 'much', event_name: 'paid' }))
    await s2s('/s2s/events/bulk', { events: [] })
    await call('/event', { 'x-service-company-key': tenant.company_key, 'x-service-app-key': 'none' }, '{}')
    const items = await shown(5)
    expect(
      items.map(({ kind, code, field, unproven, event_name }) => ({ kind, code, field, unproven, event_name })),
    ).toEqual([
      { kind: 'refused', code: 'bad_signature', field: null, unproven: true, event_name: null },
      { kind: 'refused', code: 'bad_gzip', field: null, unproven: false, event_name: null },
      { kind: 'refused', code: 'bad_json', field: null, unproven: false, event_name: null },
      { kind: 'refused', code: 'invalid_field', field: 'revenue', unproven: false, event_name: 'paid' },
      { kind: 'refused', code: 'bad_json', field: 'events', unproven: false, event_name: null },
    ])
    expect(items[0]).toMatchObject({ install_uuid: null, raw: null, request_id: '' })
    expect(items[2]).toMatchObject({ request_id: 'own' })
  })

  it('counts exactly what it leaves out of a flood, shows rejected events beside it, and stays small', async () => {
    const { event, watch, writesOf, tenant } = await openShown()
    const shown = await watch()
    const flood = () =>
      event(batch(...Array.from({ length: 500 }, () => sdkEvent({ props: { text: 'x'.repeat(900) } }))))
    for (let n = 0; n < 10; n += 1) await Promise.all([flood(), event(batch(sdkEvent({ event_ts_ms: 1 })))])
    for (let n = 0; n < 200; n += 1) await event('{', { 'x-service-signature': 'f'.repeat(64) })
    const items = await shown(5000 + 10 + 200)
    const writes = await writesOf(tenant.app.app_id)
    expect(items.length).toBeLessThan(2500)
    expect(items.filter(({ kind }) => kind === 'rejected').length).toBeGreaterThan(0)
    for (const write of writes) {
      expect(write.items.filter(({ unproven }) => unproven).length).toBeLessThanOrEqual(
        limits.live_unproven_of_write_max,
      )
      expect(JSON.stringify(write).length).toBeLessThan(limits.live_write_bytes_of_company_max + 1000)
    }
  })

  it('changes no answer when the store is away, and counts what was lost once it is back', async () => {
    const { event, keyValue, watch, registry } = await openShown()
    const shown = await watch()
    keyValue.fault = new Error('away')
    expect((await event(batch(sdkEvent()))).statusCode).toBe(200)
    expect((await event('{')).json()).toMatchObject({ error: 'bad_json' })
    await vi.waitFor(async () => expect(await registry.metrics()).toMatch(/live_dropped_total [1-9]/), patience)
    keyValue.fault = null
    await event(batch(sdkEvent({ event_name: 'after' })))
    expect((await shown(3)).map(({ event_name }) => event_name)).toContain('after')
  })
})

describe('kept refusals', () => {
  const manyRefused = async ({ event, s2s }: Gateway) => {
    for (let n = 0; n < 30; n += 1) {
      await event('{', { 'x-service-signature': 'f'.repeat(64) })
      await s2s(
        '/s2s/event',
        sdkEvent({ event_id: `id-${n}`, install_uuid: 'my-install', currency: `${n}`, receipt: 'R' }),
      )
    }
  }

  it('are the last 20 of a code without anybody watching, and say nothing of whom they were', async () => {
    const gateway = await openShown()
    await manyRefused(gateway)
    await gateway.event(batch(sdkEvent({ event_name: 'level', event_ts_ms: 1 })))
    await vi.waitFor(async () => {
      expect(await gateway.keptOf('invalid_field')).toHaveLength(limits.refusals_kept_max)
      expect(await gateway.keptOf('bad_signature', true)).toHaveLength(limits.refusals_of_block_max)
      expect(await gateway.keptOf('event_ts_ms_out_of_range')).toHaveLength(1)
    }, patience)
    const [kept] = await gateway.keptOf('event_ts_ms_out_of_range')
    expect(JSON.parse(kept!)).toMatchObject({ kind: 'kept', event_name: 'level', field: 'event_ts_ms' })
    const texts = [...(await gateway.keptOf('invalid_field')), kept].join()
    for (const word of ['my-install', 'id-29', '127.0.0.1', '"R"', 'raw']) expect(texts).not.toContain(word)
    expect(await gateway.writesOf()).toEqual([])
  })
})
