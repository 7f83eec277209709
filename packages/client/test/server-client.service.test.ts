import { describe, expect, it } from 'vitest'
import { BulkError, createServerClient, type ServerClientOptions } from '../src/server-client.ts'
import { EventShelf, eventsOf, type Received, type Reply, startService } from './hostile-service.ts'

const server_key = `srv_${'ab'.repeat(24)}`
const fast = { first_pause_ms: 1, pause_ms_max: 2 }
const event = (n: number, more: object = {}) => ({
  event_name: 'purchase',
  event_ts_ms: 1_780_000_000_000 + n,
  install_uuid: 'i1',
  ...more,
})
const many = (count: number, more: object = {}) => Array.from({ length: count }, (_, n) => event(n, more))

/** A backend's client, and a service that takes events; `before` may answer instead. */
async function open(
  before: (request: Received, n: number, shelf: EventShelf) => Reply | null = () => null,
  retry: ServerClientOptions['retry'] = fast,
) {
  const shelf = new EventShelf()
  let n = 0
  const { url, received } = await startService((request) => {
    const instead = before(request, n++, shelf)
    if (instead !== null) return instead
    if (request.path !== '/s2s/event') return shelf.take(eventsOf(request))
    const one = JSON.parse(request.body.toString())
    shelf.take([one])
    return { status: 200, body: { accepted: 1, event_id: one.event_id, audit_key: 's2s/x' } }
  })
  return { client: createServerClient({ url, server_key, retry }), received, shelf, url }
}

const lost = (request: Received, shelf: EventShelf): Reply => {
  shelf.take(request.path === '/s2s/event' ? [JSON.parse(request.body.toString())] : eventsOf(request))
  return { status: 0, cut: true }
}

describe('retries', () => {
  it.each<[string, Reply]>([
    ['503', { status: 503, body: { error: 'unavailable' } }],
    ['500', { status: 500, body: { error: 'internal_error' } }],
    ['429', { status: 429, body: { error: 'rate_limited' }, headers: { 'retry-after': '0' } }],
    ['a cut connection', { status: 0, cut: true }],
  ])('a request that may succeed later is repeated under the same event_id: %s', async (_, reply) => {
    const { client, received, shelf } = await open((_request, n) => (n < 3 ? reply : null))
    const { event_id } = await client.send(event(1))
    expect(received.map(({ body }) => JSON.parse(body.toString()).event_id)).toEqual(Array(4).fill(event_id))
    expect(received[0]?.headers.authorization).toBe(`Bearer ${server_key}`)
    expect(shelf.events.size).toBe(1)
  })

  it('an event whose answer was lost counts once, single and in bulk, with and without its own event_id', async () => {
    const { client, shelf } = await open((request, n, taken) => (n % 2 === 0 ? lost(request, taken) : null))
    await client.send(event(1))
    await client.send(event(2, { event_id: 'mine' }))
    expect(await client.sendBulk(many(20))).toMatchObject({ accepted: 20 })
    expect(shelf.events.size).toBe(22)
  })

  it.each(['1', new Date(Date.now() + 86_400_000).toUTCString()])(
    'Retry-After is waited for: %s',
    async (retry_after) => {
      // A call does not wait until tomorrow: it throws at once, and the error carries the wait.
      const { client, received } = await open((_, n) =>
        n === 0 ? { status: 429, body: { error: 'rate_limited' }, headers: { 'retry-after': retry_after } } : null,
      )
      if (retry_after === '1') {
        await client.send(event(1))
        expect(received[1]!.at_ms - received[0]!.at_ms).toBeGreaterThan(980)
        return
      }
      const error = await client.send(event(1)).catch((thrown) => thrown)
      expect(error).toMatchObject({ code: 'rate_limited', status: 429 })
      expect(error.retry_after_ms).toBeGreaterThan(86_000_000)
      expect(received).toHaveLength(1)
    },
  )

  it('end after the attempts or the time of the policy, with the last error', async () => {
    const away = () => ({ status: 503, body: { error: 'unavailable', request_id: 'r1' } })
    const few = await open(away, { ...fast, attempts_max: 3 })
    await expect(few.client.send(event(1))).rejects.toMatchObject({
      code: 'unavailable',
      status: 503,
      request_id: 'r1',
    })
    expect(few.received).toHaveLength(3)
    const short = await open(away, { ...fast, attempts_max: 1e9, give_up_after_ms: 50 })
    await expect(short.client.send(event(1))).rejects.toMatchObject({ status: 503 })
    const nobody = createServerClient({ url: 'http://127.0.0.1:1', server_key, retry: { ...fast, attempts_max: 2 } })
    await expect(nobody.send(event(1))).rejects.toMatchObject({ code: 'unavailable', status: 0 })
  })

  it.each([400, 401, 403, 404])('are not made for %i', async (status) => {
    const { client, received } = await open(() => ({ status, body: { error: 'invalid_field', field: 'revenue' } }))
    await expect(client.send(event(1))).rejects.toMatchObject({ code: 'invalid_field', status, field: 'revenue' })
    expect(received).toHaveLength(1)
  })

  it('are not made for a used-up quota', async () => {
    const { client, received } = await open(() => ({
      status: 429,
      body: { error: 'cap_exceeded' },
      headers: { 'retry-after': '100' },
    }))
    await expect(client.sendBulk(many(2))).rejects.toMatchObject({ code: 'cap_exceeded', retry_after_ms: 100_000 })
    expect(received).toHaveLength(1)
  })

  it('end when the caller aborts, with the reason of the signal', async () => {
    const { client } = await open(() => ({ status: 503 }), { ...fast, pause_ms_max: 60_000, first_pause_ms: 60_000 })
    const stop = new AbortController()
    const sent = client.send(event(1), { signal: stop.signal })
    stop.abort(new Error('shutting down'))
    await expect(sent).rejects.toThrow('shutting down')
  })
})

describe('sendBulk', () => {
  it('splits by count and bytes, and keeps the order of the results', async () => {
    const { client, received, shelf } = await open()
    const all = many(1500, { blob: 'ü'.repeat(5000) }).map((one, n) => ({ ...one, event_id: `e${n}` }))
    const { accepted, results } = await client.sendBulk(all)
    expect(accepted).toBe(1500)
    expect(results.map(({ event_id }) => event_id)).toEqual(all.map(({ event_id }) => event_id))
    expect(Math.max(...received.map(({ body }) => body.length))).toBeLessThanOrEqual(8 * 1024 * 1024)
    expect(Math.max(...received.map((one) => eventsOf(one).length))).toBeLessThanOrEqual(1000)
    expect(shelf.events.size).toBe(1500)
    expect(await client.sendBulk([])).toEqual({ accepted: 0, rejected: 0, results: [] })
  })

  it('never sends a rejected event again', async () => {
    const { client, received } = await open()
    const { results } = await client.sendBulk([event(1), event(2, { bad: true })])
    expect(results).toMatchObject([
      { status: 'accepted' },
      { status: 'rejected', reason: 'invalid_field', field: 'bad' },
    ])
    expect(received).toHaveLength(1)
  })

  it('returns the known result of each event when it fails half-way, so that the rest can be sent under the same ids', async () => {
    let revoked = true
    const { client, shelf } = await open((_, n) =>
      n > 0 && revoked ? { status: 401, body: { error: 'unknown_or_revoked_key' } } : null,
    )
    const all = many(2500)
    const error: BulkError = await client.sendBulk(all).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(BulkError)
    expect(error).toMatchObject({ code: 'unknown_or_revoked_key', status: 401 })
    const statuses = error.results.map(({ status }) => status)
    expect(statuses).toEqual([...Array(1000).fill('accepted'), ...Array(1500).fill('undecided')])
    revoked = false
    const rest = all.flatMap((one, n) => {
      const { status, event_id } = error.results[n]!
      return status === 'undecided' ? [{ ...one, event_id }] : []
    })
    await client.sendBulk(rest)
    expect(shelf.events.size).toBe(2500)
  })
})

describe('reports', () => {
  it('are read page by page in one window', async () => {
    const rows = Array.from({ length: 25 }, (_, n) => ({ day: '2026-06-01', event_name: `e${n}` }))
    const { client, received } = await open(({ path }, n) => {
      const query = new URL(path, 'http://x').searchParams
      const limit = Number(query.get('limit') ?? 100)
      const offset = Number(query.get('offset') ?? 0)
      const until_ms = Number(query.get('until_ms') ?? 1_780_000_000_000 + n)
      const meta = { since_ms: 1_770_000_000_000, until_ms, limit, offset, elapsed_ms: 1 }
      return { status: 200, body: { rows: rows.slice(offset, offset + limit), meta } }
    })
    const names: string[] = []
    for await (const page of client.reportPages('events', { since_ms: 1_770_000_000_000, limit: 10 })) {
      names.push(...page.rows.map(({ event_name }) => event_name))
      expect(page.meta.until_ms).toBe(1_780_000_000_000)
    }
    expect(names).toEqual(rows.map(({ event_name }) => event_name))
    expect(received[0]).toMatchObject({ method: 'GET', path: '/api/v1/reports/events?since_ms=1770000000000&limit=10' })
    expect(received).toHaveLength(3)
    const filter = { event_name: ['a b', 'c'], limit: 10 }
    for await (const { rows } of client.reportPages('events', filter)) expect(rows.length).toBeGreaterThan(0)
    for (const { path } of received.slice(3)) expect(path).toContain('event_name=a+b&event_name=c')
    expect(received).toHaveLength(6)
    const sizes: number[] = []
    for await (const page of client.reportPages('events', { limit: 25 })) sizes.push(page.rows.length)
    expect(sizes).toEqual([25])
  })

  it('have periods, and days in one parameter', async () => {
    const meta = { since_ms: 1, until_ms: 2, limit: 100, offset: 0, elapsed_ms: 1 }
    const row = { day: '2026-06-01', installs: 4, d1: 1, d3: 1 }
    const { client, received } = await open(() => ({ status: 200, body: { rows: [row], meta } }))
    const { rows } = await client.report('cohorts', { group: 'week', days: [0, 3] })
    expect(received[0]?.path).toBe('/api/v1/reports/cohorts?group=week&days=0%2C3')
    expect(rows[0]?.d3).toBe(1)
  })

  it('come as CSV in pieces, and an end too early is an error', async () => {
    const lines = 'day,event_name\r\n2026-06-01,größe\r\n'
    const { client, received } = await open((_, n): Reply => {
      if (n === 0) return { status: 503, body: { error: 'unavailable' } }
      if (n === 1) return { status: 200, body: lines, headers: { 'x-missing-rates': 'EUR,XXX' } }
      if (n === 2) return { status: 400, body: { error: 'window_too_large' } }
      return { status: 200, body: lines, headers: { 'content-length': '1000' }, broken_off: true }
    })
    const { text, missing_rates } = await client.reportCsv('events', { event_name: ['a'] })
    expect([(await Array.fromAsync(text)).join(''), missing_rates]).toEqual([lines, ['EUR', 'XXX']])
    expect(received[1]?.path).toBe('/api/v1/reports/events?event_name=a&format=csv')
    await expect(client.reportCsv('events')).rejects.toMatchObject({ code: 'window_too_large' })
    const broken = await client.reportCsv('events')
    expect(broken.missing_rates).toEqual([])
    await expect(Array.fromAsync(broken.text)).rejects.toMatchObject({ code: 'unavailable', status: 0 })
  })

  it('throw the code of a refusal, and an error for any answer that is not a report', async () => {
    const { client } = await open((_, n) =>
      n === 0 ? { status: 400, body: { error: 'window_too_large' } } : { status: 200, body: '<html>' },
    )
    await expect(client.report('events')).rejects.toMatchObject({ code: 'window_too_large', status: 400 })
    await expect(client.report('events')).rejects.toMatchObject({ code: 'unexpected_answer', status: 200 })
  })
})
