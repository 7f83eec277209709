import { gzipSync } from 'node:zlib'
import { limits } from '@tributary/contracts/limits'
import { bodyBytesKey, bodyBytesMax, quotaKey, rejectedKey } from '@tributary/tenancy/quota/quota-key'
import { sdkEvent } from '@tributary/testing/builders'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Gateway, openGateway } from './gateway.ts'

const day_ms = 24 * 3600 * 1000

let gateway: Gateway
beforeEach(async () => {
  gateway = await openGateway()
  gateway.tenant.company.monthly_quota = 10
  gateway.tenant.key.monthly_quota = 10
})

const send = (...events: unknown[]) => gateway.event(JSON.stringify({ events, sent_at_ms: gateway.now_ms }))
const bulk = (...events: unknown[]) => gateway.s2s('/s2s/events/bulk', { events })
const fresh = (n: number) => Array.from({ length: n }, () => sdkEvent({ event_ts_ms: gateway.now_ms }))
const bad = (n: number) => fresh(n).map((event) => ({ ...event, event_ts_ms: 1 }))
const answerOf = async (request: ReturnType<typeof send>) => {
  const { statusCode, headers, body } = await request
  return [statusCode, JSON.parse(body).error, headers['x-service-quota-used'], headers['retry-after'] !== undefined]
}

describe('the monthly quota at the door', () => {
  test('equal ids on other days are other events: they do not pass the cap', async () => {
    const events = (n: number) =>
      Array.from({ length: n }, (_, at) => ({
        ...sdkEvent({ event_ts_ms: gateway.now_ms - 2 * at * day_ms }),
        ...{ event_id: 'the-same', install_uuid: 'i-1' },
      }))
    for (const request of [send, bulk]) {
      expect(await answerOf(request(...events(11)))).toEqual([429, 'cap_exceeded', '0', true])
    }
    expect(await answerOf(send(...events(5), ...events(5)))).toEqual([200, undefined, '5', false])
  })

  test('a company that has used it up writes nothing more, whatever it sends', async () => {
    expect((await send(...fresh(10))).statusCode).toBe(200)
    const stored = gateway.audit.objects.size
    for (const request of [send(...fresh(1)), send(...bad(3)), bulk(...bad(3)), bulk({}, ...fresh(1))]) {
      expect(await answerOf(request)).toEqual([429, 'cap_exceeded', '10', true])
    }
    const single = gateway.s2s('/s2s/event', { ...fresh(1)[0] })
    expect(await answerOf(single)).toEqual([429, 'cap_exceeded', '10', true])
    expect(gateway.audit.objects.size).toBe(stored)
  })

  test('a request that does not pass the checks keeps its own answer', async () => {
    await send(...fresh(10))
    expect((await send()).json().error).toBe('bad_batch_shape')
    expect((await gateway.s2s('/s2s/event', {})).json().error).toBe('install_uuid_required')
  })

  test('what a failed request had reserved is given back, on every route', async () => {
    const routes = [() => send(...fresh(4)), () => bulk(...fresh(4)), () => gateway.s2s('/s2s/event', fresh(1)[0])]
    for (const request of routes) {
      gateway.log.fault = new Error('no')
      expect((await request()).statusCode).toBe(503)
      gateway.log.fault = null
    }
    const of = [...gateway.keyValue.totals].filter(([key]) => key.includes(gateway.tenant.company.company_id))
    expect(of.map(([, total]) => total)).toEqual([0, 0])
    expect(await answerOf(bulk(...fresh(10)))).toEqual([200, undefined, '10', false])
  })

  test('rejected events are as many as the quota, and are given back with a request that fails', async () => {
    gateway.log.fault = new Error('no')
    expect((await send(...fresh(1), ...bad(8))).statusCode).toBe(503)
    gateway.log.fault = null
    expect(await answerOf(send(...fresh(1), ...bad(8)))).toEqual([200, undefined, '1', false])
    expect(await gateway.keyValue.get(rejectedKey(gateway.tenant.company.company_id, gateway.now_ms))).toBe(8)
    const stored = gateway.audit.objects.size
    expect(await answerOf(bulk(...bad(3)))).toEqual([429, 'cap_exceeded', '1', true])
    expect(gateway.audit.objects.size).toBe(stored)
    expect(await answerOf(send(...fresh(9)))).toEqual([200, undefined, '10', false])
  })

  test('bytes of bodies have a cap, inflated and whole, whatever becomes of the events; nothing beyond it is stored', async () => {
    gateway.tenant.company.monthly_quota = 1_000_000
    gateway.tenant.key.monthly_quota = 1_000_000
    const { company_id } = gateway.tenant.company
    const key = bodyBytesKey(company_id, gateway.now_ms)
    const cap = bodyBytesMax(1_000_000)!
    const same = fresh(1)[0]
    const copies = JSON.stringify({ events: Array(500).fill(same), sent_at_ms: gateway.now_ms })
    const rejected = JSON.stringify({ events: bad(100) })
    const many = JSON.stringify({ events: fresh(500), sent_at_ms: gateway.now_ms })
    const packed = gzipSync(copies)
    // Members of nothing: few bytes for who inflates them, and many on the disk.
    const padded = Buffer.concat([...Array(1000).fill(gzipSync('')), gzipSync(rejected)])
    const zipped = { 'content-encoding': 'gzip' }
    const requests = [
      { bytes: copies.length, send: () => gateway.event(copies) },
      { bytes: copies.length, send: () => gateway.event(packed, zipped) },
      { bytes: many.length + 499 * limits.quota_record_bytes, send: () => gateway.event(many) },
      { bytes: rejected.length, send: () => gateway.event(rejected) },
      { bytes: Math.max(padded.length, rejected.length), send: () => gateway.event(padded, zipped) },
      { bytes: copies.length, send: () => gateway.s2s('/s2s/events/bulk', packed, zipped) },
      { bytes: JSON.stringify(same).length, send: () => gateway.s2s('/s2s/event', same) },
    ]
    for (const { bytes, send } of requests) {
      gateway.keyValue.totals.set(key, cap - bytes - limits.quota_record_bytes)
      expect((await send()).statusCode).toBe(200)
      expect(gateway.keyValue.totals.get(key)).toBe(cap)
      const stored = gateway.audit.objects.size
      const used = await gateway.keyValue.get(quotaKey(company_id, gateway.now_ms))
      expect(await answerOf(send())).toEqual([429, 'cap_exceeded', String(used), true])
      expect((await send()).json().message).toContain(`${cap} of ${cap} bytes`)
      expect(gateway.audit.objects.size).toBe(stored)
    }
  })
})
