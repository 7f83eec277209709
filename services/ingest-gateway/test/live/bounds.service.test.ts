import { type FeedWrite, feedKey, refusalsKey, watched_key } from '@tributary/contracts/admin/live/feed'
import { limits } from '@tributary/contracts/limits'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import type { FastifyRequest } from 'fastify'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { createKeptRefusals } from '../../src/live/kept-refusals.ts'
import { createLiveFeed } from '../../src/live/live-feed.ts'

const at_ms = Date.UTC(2026, 5, 1, 12)

/** A request of an app, whose answer is out. */
function answered(
  company_id: string,
  app_id: string,
  { code = 'ok', events = 0, proven = true, client_ip = '192.0.2.1' } = {},
) {
  const body = Buffer.from(JSON.stringify({ events: Array.from({ length: events }, () => ({ event_name: 'ü' })) }))
  const ingest = { code, proven, accepted: 0, rejected: new Map([['missing_field', events]]), bytes: body.length }
  const request = { id: 'r', client_ip, routeOptions: { url: '/event' }, headers: {}, body, ingest }
  return { app_id, company_id, error: null, at_ms, request: request as unknown as FastifyRequest }
}

it('writes few bytes of all apps and of a company at a time, and counts the rest exactly', async () => {
  const keyValue = memoryKeyValue(() => at_ms)
  const feed = createLiveFeed({ keyValue, elapsed: () => 0, registry: new Registry() })
  const companies = Array.from({ length: 6 }, (_, c) =>
    Array.from({ length: 10 }, (_, a) => ({ company_id: `co_${c}`, app_id: `app_${c}_${a}` })),
  )
  const apps = companies.flat()
  await keyValue.append(watched_key, JSON.stringify(apps.map(({ app_id }) => app_id)), 10, 60_000)
  await feed.look()
  for (const { company_id, app_id } of apps) feed.note(answered(company_id, app_id, { events: 50 }))
  await feed.flush()

  const writesOf = async (of: typeof apps) =>
    (await Promise.all(of.map(({ app_id }) => keyValue.read(feedKey(app_id), 0, 256)))).flatMap(({ texts }) => texts)
  const bytes = (texts: string[]) => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const heads = (texts: string[]) => 200 * texts.length
  const all = await writesOf(apps)
  expect(bytes(all)).toBeLessThan(limits.live_write_bytes_max + heads(all))
  for (const company of companies) {
    const texts = await writesOf(company)
    expect(bytes(texts)).toBeLessThan(limits.live_write_bytes_of_company_max + heads(texts))
  }
  const writes = all.map((text) => JSON.parse(text) as FeedWrite)
  expect(writes.flatMap(({ items }) => items).length).toBeGreaterThan(200)
  expect(writes.map(({ total }) => total)).toEqual(apps.map(() => 50))
})

describe('kept refusals', () => {
  const codes = ['bad_signature', 'body_too_large', 'empty_body', 'rate_limited']
  function openKept() {
    const keyValue = memoryKeyValue(() => at_ms)
    const keptOf = async (app_id: string, code: string, unproven: boolean) =>
      (await keyValue.read(refusalsKey(app_id, code, unproven), 0, 1000)).texts
    return { ...createKeptRefusals({ keyValue }), keptOf }
  }

  it('cost few bytes of bodies of one company, whatever its apps, and none of what others need', async () => {
    const { note, flush, keptOf } = openKept()
    const events = 4000
    const apps = Array.from({ length: 40 }, (_, n) => `app_${n}`)
    for (const app_id of apps) note(answered('co_a', app_id, { events }))
    note(answered('co_a', 'app_last', { code: 'bad_signature', proven: false }))
    note(answered('co_b', 'app_b', { events: 1 }))
    for (let n = 0; n < 3; n += 1) await flush()
    const kept = await Promise.all(apps.map(async (app_id) => (await keptOf(app_id, 'bad_event_id', false)).length))
    expect(kept.filter((count) => count > 0)).toHaveLength(
      Math.ceil(limits.refusals_read_bytes_of_company_max / limits.live_body_bytes_max),
    )
    expect(await keptOf('app_last', 'bad_signature', true)).toHaveLength(1)
    expect(await keptOf('app_b', 'bad_event_id', false)).toHaveLength(1)
  })

  it('of other companies are written at once while one company has more than are written', async () => {
    const { note, flush, keptOf } = openKept()
    for (let n = 0; n < 3; n += 1) {
      for (let app = 0; app < 600; app += 1)
        for (const code of codes) note(answered('large', `large_${app}`, { code, proven: false }))
      note(answered('small', 'small', { code: 'cap_exceeded' }))
      await flush()
      expect(await keptOf('small', 'cap_exceeded', false)).toHaveLength(n + 1)
    }
  })

  it('that no signature proves are not all of one address block', async () => {
    const { note, flush, keptOf } = openKept()
    const refuse = (client_ip: string) =>
      note(answered('co', 'app', { code: 'bad_signature', proven: false, client_ip }))
    refuse('192.0.2.1')
    for (let n = 0; n < 100; n += 1) refuse(`2001:db8::${n}`)
    await flush()
    expect(await keptOf('app', 'bad_signature', true)).toHaveLength(1 + limits.refusals_of_block_max)
  })
})
