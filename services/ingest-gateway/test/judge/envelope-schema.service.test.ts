import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Envelope } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import { sdkEvent } from '@tributary/testing/builders'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Gateway, openGateway } from '../gateway.ts'

const file = join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'schemas', 'events.accepted.v1.json')
const validate = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true }).compile(
  JSON.parse(readFileSync(file, 'utf8')),
)
const errorsOf = (envelope: unknown) => (validate(envelope) ? [] : validate.errors)

let gateway: Gateway
beforeEach(async () => {
  gateway = await openGateway()
})

const event = (change: Record<string, unknown> = {}) => sdkEvent({ event_ts_ms: gateway.now_ms, ...change })
const accepted = (answer: { json(): { accepted: number } }) => answer.json().accepted

describe('docs/schemas/events.accepted.v1.json', () => {
  test('describes what every route publishes', async () => {
    const absent = { user_id: null, revenue: null, currency: null, props: null, device: null, platform: null }
    const batch = JSON.stringify({
      events: [event(), event(absent), event({ event_ts_ms: undefined })],
      sent_at_ms: 1.5,
    })
    expect(accepted(await gateway.event(batch, { 'x-service-sdk': 'unity-2.1.0', 'x-service-platform': 'ios' }))).toBe(
      3,
    )
    expect(accepted(await gateway.event(JSON.stringify({ events: [event()] })))).toBe(1)
    expect(accepted(await gateway.s2s('/s2s/event', event({ event_id: undefined, revenue: -0.5 })))).toBe(1)
    const purchase = { revenue: limits.revenue_abs_max, currency: 'eur', extra: [{ deep: [null] }] }
    expect(accepted(await gateway.s2s('/s2s/events/bulk', { events: [event(purchase), event()] }))).toBe(2)
    const envelopes = gateway.envelopes()
    expect(new Set(envelopes.map(({ source }) => source))).toEqual(new Set(['sdk', 's2s', 'bulk']))
    const packed = JSON.stringify({ events: [event({ props: { filler: 'x'.repeat(500) } })] })
    expect(accepted(await gateway.event(gzipSync(packed), { 'content-encoding': 'gzip' }))).toBe(1)
    const logged = gateway.records().map(({ value }) => JSON.parse(value.toString()))
    expect(new Set(logged.map(({ v }) => v))).toEqual(new Set([1, 2]))
    expect(logged.map(errorsOf)).toEqual(logged.map(() => []))
  })

  test('describes whatever the gateway accepts, at every limit', async () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 260 }),
      fc.constantFrom('é'.repeat(128), '😀'.repeat(64), '😀'.repeat(128), 'x'.repeat(256), '\ud800', '', ' '),
    )
    const odd = fc.oneof(texts, fc.double(), fc.integer(), fc.jsonValue(), fc.constantFrom(null, {}, [], 'USD', 1e9))
    const change = fc.dictionary(
      fc.constantFrom('event_id', 'event_name', 'user_id', 'product_id', 'revenue', 'currency', 'props', 'other'),
      odd,
      { maxKeys: 4 },
    )
    let published = 0
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 5 }), async (changes) => {
        await gateway.s2s('/s2s/events/bulk', { events: changes.map(event) })
        const envelopes = gateway.envelopes().slice(published)
        published += envelopes.length
        expect(envelopes.map(errorsOf)).toEqual(envelopes.map(() => []))
      }),
      { numRuns: 300 },
    )
    expect(published).toBeGreaterThan(50)
  })

  test('refuses what is no envelope, and lets fields that come later pass', async () => {
    await gateway.event(JSON.stringify({ events: [event()] }))
    const [good] = gateway.envelopes() as [Envelope]
    const [first] = good.events
    const wrong = [
      { ...good, v: 2 },
      { ...good, app_id: '../x' },
      { ...good, platform: 'web' },
      { ...good, received_at_ms: '1' },
      { ...good, audit_key: undefined },
      { ...good, events: [] },
      { ...good, events: ['x'] },
      { ...good, events: [{ ...first, event_id: null }] },
      { ...good, events: [{ ...first, event_name: undefined }] },
      { ...good, events: [{ ...first, revenue: '9.99' }] },
      { ...good, events: [{ ...first, props: 'x' }] },
    ].map((envelope) => JSON.parse(JSON.stringify(envelope)))
    expect(wrong.filter((envelope) => errorsOf(envelope)?.length === 0)).toEqual([])
    expect(errorsOf({ ...good, later: 1, events: [{ ...first, later: {} }] })).toEqual([])
  })
})
