import { describe, expect, it } from 'vitest'
import type { RejectedEvent, SdkClientOptions } from '../src/sdk/sdk-options.ts'
import { createSdkClient } from '../src/sdk-client.ts'
import { createServerClient } from '../src/server-client.ts'
import { memoryStorage } from '../src/storage.ts'
import { startGateway, startReportApi } from './gateway.ts'

const install_uuid = '0192f0c1-7b1e-7c30-8b51-0f2f8d1d7c11'
const event = (n: number, more: object = {}) => ({
  event_id: `e${n}`,
  event_name: 'purchase',
  event_ts_ms: Date.now(),
  install_uuid,
  ...more,
})

describe('an app and the real gateway', () => {
  async function open(more: Partial<SdkClientOptions> = {}) {
    const gateway = await startGateway()
    const rejected: RejectedEvent[] = []
    const client = createSdkClient({
      ...gateway.sdk,
      storage: memoryStorage(),
      onRejected: (one) => rejected.push(one),
      ...more,
    })
    return { ...gateway, client, rejected }
  }

  it.each([1, 9, 10, 1201])('takes %i signed events', async (count) => {
    const { client, events, envelopes, rejected } = await open({
      flush_events: 10_000,
      platform: 'android',
      app_version: '2.1',
    })
    const ids = await Promise.all(
      Array.from({ length: count }, (_, n) => client.track({ event_name: 'level_up', props: { n } })),
    )
    expect(await client.flush()).toEqual({ pending: 0 })
    expect(rejected).toEqual([])
    expect(events().map(({ event_id }) => event_id)).toEqual(ids)
    expect(events()[0]).toMatchObject({ platform: 'android', device: { os: 'android', app_version: '2.1' } })
    expect(new Set(events().map((one) => one.install_uuid))).toEqual(new Set([await client.installUuid()]))
    for (const { sdk, sent_at_ms } of envelopes() as unknown as Record<string, unknown>[]) {
      expect(sdk).toBe('tributary-ts-0.1.0')
      expect(Math.abs(Date.now() - (sent_at_ms as number))).toBeLessThan(60_000)
    }
  })

  it('reports an event that the gateway rejects, drops it, and loses no other', async () => {
    const { client, events, rejected } = await open()
    await client.track({ event_name: 'a' })
    const event_id = await client.track({ event_name: 'b', revenue: 'much' as unknown as number })
    await client.track({ event_name: 'c' })
    expect(await client.flush()).toEqual({ pending: 0 })
    expect(events().map(({ event_name }) => event_name)).toEqual(['a', 'c'])
    expect(rejected).toEqual([
      { event: expect.objectContaining({ event_id }), reason: 'invalid_field', field: 'revenue' },
    ])
  })

  it('reports a wrong secret as bad_signature', async () => {
    const codes: string[] = []
    const { client, rejected } = await open({ signing_secret: 'wrong', onError: ({ code }) => codes.push(code) })
    await client.track({ event_name: 'a' })
    expect(await client.flush()).toEqual({ pending: 0 })
    expect(codes).toEqual(['bad_signature'])
    expect(rejected).toMatchObject([{ event: { event_name: 'a' }, reason: 'bad_signature' }])
  })
})

describe('a backend and the real gateway', () => {
  it('sends single events', async () => {
    const { server, events } = await startGateway()
    const client = createServerClient(server)
    expect(await client.send(event(1))).toMatchObject({ accepted: 1, event_id: 'e1', audit_key: expect.any(String) })
    const { event_id } = await client.send(event(2, { event_id: undefined }))
    expect(events().map((one) => one.event_id)).toEqual(['e1', event_id])
  })

  it('throws refusals of the gateway with code, field and request_id', async () => {
    const { server } = await startGateway()
    const client = createServerClient(server)
    const bad = { code: 'invalid_field', status: 400, field: 'currency', request_id: expect.any(String) }
    await expect(client.send(event(1, { currency: 'EURO' }))).rejects.toMatchObject(bad)
    const unknown = createServerClient({ ...server, server_key: `srv_${'0'.repeat(48)}` })
    await expect(unknown.sendBulk([event(1)])).rejects.toMatchObject({ code: 'unknown_or_revoked_key', status: 401 })
  })

  it('sends more events than one request may hold, and returns the result of each', async () => {
    const { server, events } = await startGateway()
    const all = Array.from({ length: 2500 }, (_, n) => event(n, n % 1000 === 7 ? { event_ts_ms: 5 } : {}))
    const { accepted, rejected, results } = await createServerClient(server).sendBulk(all)
    expect({ accepted, rejected, count: results.length }).toEqual({ accepted: 2497, rejected: 3, count: 2500 })
    expect(results[1007]).toEqual({
      event_id: 'e1007',
      status: 'rejected',
      reason: 'event_ts_ms_out_of_range',
      field: 'event_ts_ms',
      message: expect.stringContaining('milliseconds'),
    })
    expect(events()).toHaveLength(2497)
  })

  it('finds the events for which a whole request is refused, and sends the others', async () => {
    const { server, events } = await startGateway(['purchase'])
    const all = Array.from({ length: 50 }, (_, n) =>
      event(n, { ...(n === 8 ? { platform: 'ios' } : {}), ...(n % 20 === 9 ? { event_name: 'secret' } : {}) }),
    )
    const { accepted, results } = await createServerClient(server).sendBulk(all)
    expect(accepted).toBe(46)
    expect(events()).toHaveLength(46)
    expect(results.flatMap(({ reason }, n) => (reason === undefined ? [] : [[n, reason]]))).toEqual(
      [
        [8, 's2s_app_platform_mismatch'],
        [9, 'event_not_allowed_by_key'],
        [29, 'event_not_allowed_by_key'],
        [49, 'event_not_allowed_by_key'],
      ].sort(([a], [b]) => Number(a) - Number(b)),
    )
  })

  it('shares the identity of the app that made its install_uuid', async () => {
    const { sdk, server, envelopes } = await startGateway()
    const app = createSdkClient({ ...sdk, storage: memoryStorage() })
    await app.trackInstall({ install_referrer: 'utm_source=x' })
    await app.flush()
    await createServerClient(server).send(event(1, { install_uuid: await app.installUuid() }))
    const found = envelopes() as unknown as { partition_key?: string; install_uuid?: string; source: string }[]
    expect(found.map(({ source }) => source).sort()).toEqual(['s2s', 'sdk'])
  })
})

describe('a backend and the real report API', () => {
  it('reads a report, and throws refusals', async () => {
    const options = await startReportApi()
    const client = createServerClient(options)
    const window = { since_ms: 1_780_000_000_000, until_ms: 1_780_000_000_001 }
    expect(await client.report('events', { ...window, limit: 7 })).toEqual({
      rows: [],
      meta: { ...window, limit: 7, offset: 0, rows: 0, more: false, elapsed_ms: expect.any(Number) },
    })
    const pages = await Array.fromAsync(client.reportPages('events'))
    expect(pages.map(({ rows, meta }) => [rows.length, meta.limit])).toEqual([[0, 1000]])
    const wide = { ...window, since_ms: 1 }
    await expect(client.report('events', wide)).rejects.toMatchObject({ code: 'window_too_large', status: 400 })
    const unknown = createServerClient({ ...options, server_key: `srv_${'0'.repeat(48)}` })
    await expect(unknown.report('events')).rejects.toMatchObject({
      code: 'invalid_or_revoked_key',
      status: 401,
      request_id: expect.any(String),
    })
  })
})
