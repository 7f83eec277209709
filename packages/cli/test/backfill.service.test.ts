import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { answerOf, bulkService, event, eventsOf, jsonl, key, many, rejectedBeside, totals } from './bulk-service.ts'
import { fileWith, tributary } from './run-tributary.ts'

describe('tributary backfill', () => {
  it('loads a file with its key and prints exactly the documented totals', async () => {
    const keys = new Set<string | undefined>()
    const { shelf, env } = await bulkService(({ headers, path }) => {
      keys.add(`${path} ${headers.authorization}`)
      return null
    })
    const run = await tributary(['backfill', '--key', key, await fileWith('a.jsonl', jsonl(many(2500))), '--json'], env)
    expect(run).toMatchObject({ code: 0, stderr: '' })
    expect(answerOf(run)).toEqual(totals(2500, 0))
    expect(shelf.events.size).toBe(2500)
    expect(keys).toEqual(new Set([`/s2s/events/bulk Bearer ${key}`]))
  })

  it('sends at most 1000 events and 8 MiB at once', async () => {
    const sizes: number[] = []
    const { shelf, env } = await bulkService((request) => {
      sizes.push(request.body.length)
      return eventsOf(request).length > 1000 ? { status: 400, body: { error: 'too_many_events' } } : null
    })
    const path = await fileWith('a.jsonl.gz', gzipSync(jsonl(many(1500, { blob: 'x'.repeat(15_000) }))))
    expect(answerOf(await tributary(['backfill', '--key', key, '--json', path], env))).toEqual(totals(1500, 0))
    expect(shelf.events.size).toBe(1500)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(8 * 1024 * 1024)
    expect(sizes.length).toBeGreaterThan(2)
  })

  it('writes rejected lines beside with line number, reason, field, message and the line, and sends the rest', async () => {
    const { shelf, env } = await bulkService(() => null)
    const lines = [
      JSON.stringify(event(1)),
      'no json',
      '',
      '[1]',
      JSON.stringify({ ...event(2), install_uuid: undefined }),
      JSON.stringify({ ...event(3), revenue: 'much' }),
      JSON.stringify(event(4)),
    ]
    const path = await fileWith('a.jsonl', lines.join('\r\n'))
    const run = await tributary(['backfill', '--key', key, '--json', path], env)
    expect(answerOf(run)).toEqual(totals(2, 4))
    expect(await rejectedBeside(path)).toEqual([
      { line: 2, reason: 'bad_json', field: null, message: null, text: 'no json' },
      { line: 4, reason: 'missing_required_fields', field: null, message: null, text: '[1]' },
      { line: 5, reason: 'missing_required_fields', field: null, message: null, text: lines[4] },
      { line: 6, reason: 'invalid_field', field: 'revenue', message: 'revenue is a number.', text: lines[5] },
    ])
    expect([...shelf.events.values()].map(({ event_id }) => event_id)).toEqual(['e1', 'e4'])
  })

  it('finds the lines for which a whole request is refused, and loses no other', async () => {
    let requests = 0
    const { shelf, env } = await bulkService((request) => {
      requests += 1
      const events = eventsOf(request)
      if (events.some(({ platform }) => platform === 'iOS')) {
        return { status: 400, body: { error: 's2s_app_platform_mismatch' } }
      }
      const forbidden = events.some(({ event_name }) => event_name === 'secret')
      return forbidden ? { status: 403, body: { error: 'event_not_allowed_by_key' } } : null
    })
    const events = many(3000).map((one, n) => ({
      ...one,
      ...(n % 10 === 3 ? { platform: 'iOS' } : {}),
      ...(n % 10 === 5 ? { event_name: 'secret' } : {}),
    }))
    const path = await fileWith('a.jsonl', jsonl(events))
    expect(answerOf(await tributary(['backfill', '--key', key, '--json', path], env))).toEqual(totals(2400, 600))
    const rejected = await rejectedBeside(path)
    expect(rejected.map(({ line }) => line)).toEqual(
      events.flatMap((_, n) => (n % 10 === 3 || n % 10 === 5 ? [n + 1] : [])),
    )
    expect(new Set(rejected.map(({ reason }) => reason))).toEqual(
      new Set(['s2s_app_platform_mismatch', 'event_not_allowed_by_key']),
    )
    expect(shelf.events.size).toBe(2400)
    // Each cause is found once, not once per line: the key may make 1000 requests a minute.
    expect(requests).toBeLessThan(200)
  })

  it('waits for the Retry-After of a 429, and retries after a 503', async () => {
    const requested_at: number[] = []
    const { shelf, env } = await bulkService(() => {
      requested_at.push(performance.now())
      if (requested_at.length === 1) return { status: 503, body: { error: 'unavailable' } }
      if (requested_at.length > 2) return null
      return { status: 429, body: { error: 'rate_limited' }, headers: { 'retry-after': '1' } }
    })
    const run = await tributary(['backfill', '--key', key, '--json', await fileWith('a.jsonl', jsonl(many(10)))], env)
    expect(answerOf(run)).toEqual(totals(10, 0))
    expect(shelf.events.size).toBe(10)
    expect(requested_at[2]! - requested_at[1]!).toBeGreaterThan(990)
  })

  it('counts an event once when its answer was lost, with and without its own event_id', async () => {
    let requests = 0
    const { shelf, env } = await bulkService((request, taken) => {
      requests += 1
      if (requests > 1) return null
      taken.take(eventsOf(request))
      return { status: 0, hang_up: true }
    })
    const events = many(10).map((one, n) => (n < 4 ? { ...one, event_id: undefined } : one))
    const path = await fileWith('a.jsonl', jsonl(events))
    expect(answerOf(await tributary(['backfill', '--key', key, '--json', path], env))).toEqual(totals(10, 0, 4))
    expect(requests).toBe(2)
    expect(shelf.events.size).toBe(10)
  })

  it('ends with 1 and the counts by reason when no line was accepted', async () => {
    const { env } = await bulkService(() => null)
    const events = [{}, { event_name: 'a' }, event(1, { revenue: 'much' }), 'x'].map((one) => JSON.stringify(one))
    const path = await fileWith('a.jsonl', `${events.join('\n')}\n{\n`)
    const run = await tributary(['backfill', '--key', key, '--json', path], env)
    expect(run.code).toBe(1)
    expect(answerOf(run)).toEqual(totals(0, 5))
    expect(JSON.parse(run.stderr)).toEqual({
      error: 'all_rejected',
      message: 'No line was accepted: missing_required_fields 3, invalid_field (revenue) 1, bad_json 1.',
    })
    const again = await tributary(['backfill', '--key', key, '--resume', path], env)
    expect(again.stdout).toMatch(/^0 accepted, 5 rejected, .* s\n {2}3 {2}missing_required_fields\n/)
    expect([
      again.code,
      (await tributary(['backfill', '--key', key, await fileWith('b.jsonl', '')], env)).code,
    ]).toEqual([1, 0])
  })

  it('gives up after --retry-for seconds without a service', async () => {
    const args = ['backfill', '--key', key, '--retry-for', '0.2', '--json']
    const path = await fileWith('a.jsonl', jsonl(many(1)))
    const run = await tributary([...args, path], { TRIBUTARY_URL: 'http://127.0.0.1:1' })
    expect(run).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(run.stderr)).toMatchObject({ error: 'unavailable' })
  })

  it('fails on a broken gzip file, after it sent the readable part', async () => {
    const { shelf, env } = await bulkService(() => null)
    const whole = gzipSync(jsonl(many(20_000)))
    const cut = await fileWith('a.jsonl.gz', whole.subarray(0, whole.length - 9))
    const none = await fileWith('b.jsonl.gz', 'no gzip')
    for (const path of [cut, none]) {
      const run = await tributary(['backfill', '--key', key, '--json', path], env)
      expect(run).toMatchObject({ code: 1, stdout: '' })
      expect(JSON.parse(run.stderr)).toMatchObject({ error: 'bad_gzip' })
    }
    expect(shelf.events.size).toBeGreaterThan(10_000)
  })

  it('reads CSV with renamed columns, constants, absent values and typed fields; a time without zone says so', async () => {
    const { shelf, env } = await bulkService(() => null)
    const path = await fileWith(
      'a.csv',
      'id,when,user,amount,note,junk\nx1,2013-01-01T10:00:00Z,i1,14.5,"a, ""b""",1\nx2,1357000000000,i2,NA,,2\nx3,1\nx4,2013-01-01 10:00:00,i4,1,,\n',
    )
    const map = ['id=event_id', 'when=event_ts_ms', 'user=install_uuid', 'amount=revenue', 'note=props.note', 'junk=']
    const args = ['backfill', '--key', key, '--json', path, '--set', 'event_name=buy', '--absent', 'NA']
    const run = await tributary([...args, ...map.flatMap((pair) => ['--map', pair])], env)
    expect(answerOf(run)).toEqual(totals(2, 2))
    expect(await rejectedBeside(path)).toEqual([
      { line: 4, reason: 'bad_csv', field: null, message: null, text: 'x3,1' },
      {
        line: 5,
        reason: 'time_without_zone',
        field: null,
        message: expect.stringContaining('no zone'),
        text: 'x4,2013-01-01 10:00:00,i4,1,,',
      },
    ])
    expect([...shelf.events.values()]).toEqual([
      {
        event_id: 'x1',
        event_name: 'buy',
        event_ts_ms: Date.UTC(2013, 0, 1, 10),
        install_uuid: 'i1',
        revenue: 14.5,
        props: { note: 'a, "b"' },
      },
      { event_id: 'x2', event_name: 'buy', event_ts_ms: 1_357_000_000_000, install_uuid: 'i2' },
    ])
  })
})
