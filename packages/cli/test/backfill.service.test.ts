import { once } from 'node:events'
import { appendFile, readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { EventShelf, type Received, type Reply, startService } from './fake-service.ts'
import { fileWith, startTributary, tributary } from './run-tributary.ts'

const key = `srv_${'ab'.repeat(24)}`
const event = (n: number, more: object = {}) => ({
  event_id: `e${n}`,
  event_name: 'purchase',
  event_ts_ms: 1_357_000_000_000 + n,
  install_uuid: `i${n % 7}`,
  ...more,
})
const jsonl = (events: readonly object[]) => events.map((one) => `${JSON.stringify(one)}\n`).join('')
const many = (count: number, more: object = {}) => Array.from({ length: count }, (_, n) => event(n, more))
const eventsOf = ({ body }: Received) => JSON.parse(body.toString()).events as Record<string, unknown>[]

/** A service for one test; `before` may answer instead of the shelf. */
async function bulkService(before: (request: Received, shelf: EventShelf) => Reply | null | Promise<Reply | null>) {
  const shelf = new EventShelf()
  const service = await startService(async (request) => {
    return (await before(request, shelf)) ?? shelf.take(eventsOf(request))
  })
  onTestFinished(() => service.close())
  return { shelf, env: { TRIBUTARY_URL: service.url } }
}

async function rejectedBeside(path: string) {
  const text = await readFile(`${path}.rejected.jsonl`, 'utf8')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

const answerOf = ({ stdout }: { stdout: string }) => JSON.parse(stdout)
const totals = (accepted: number, rejected: number, duplicates_possible = 0) => ({
  accepted,
  rejected,
  duplicates_possible,
  seconds: expect.any(Number),
})

describe('tributary backfill', () => {
  it('loads a file with its key and answers exactly the document of its command', async () => {
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

  it('writes rejected lines beside with line number, reason, field and the line, and sends the rest', async () => {
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
      { line: 2, reason: 'bad_json', field: null, text: 'no json' },
      { line: 4, reason: 'missing_required_fields', field: null, text: '[1]' },
      { line: 5, reason: 'missing_required_fields', field: null, text: lines[4] },
      { line: 6, reason: 'invalid_field', field: 'revenue', text: lines[5] },
    ])
    expect([...shelf.events.values()].map(({ event_id }) => event_id)).toEqual(['e1', 'e4'])
  })

  it('finds the guilty lines of a request that is refused whole, and loses no other', async () => {
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
    // What a request is refused for is found once, not once a line: the key may make 1000 requests a minute.
    expect(requests).toBeLessThan(200)
  })

  it('waits as long as a 429 asks, and comes back after a 503', async () => {
    const asked_at: number[] = []
    const { shelf, env } = await bulkService(() => {
      asked_at.push(performance.now())
      if (asked_at.length === 1) return { status: 503, body: { error: 'unavailable' } }
      if (asked_at.length > 2) return null
      return { status: 429, body: { error: 'rate_limited' }, headers: { 'retry-after': '1' } }
    })
    const run = await tributary(['backfill', '--key', key, '--json', await fileWith('a.jsonl', jsonl(many(10)))], env)
    expect(answerOf(run)).toEqual(totals(10, 0))
    expect(shelf.events.size).toBe(10)
    expect(asked_at[2]! - asked_at[1]!).toBeGreaterThan(990)
  })

  it('counts an event once whose answer was lost, with an event_id of its own or without', async () => {
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

  it('goes on after a kill -9 where it ended, and no line is lost or counted twice', async () => {
    const held = Promise.withResolvers<void>()
    let requests = 0
    const { shelf, env } = await bulkService(async (request, taken) => {
      requests += 1
      // The sixth request is taken but its answer never comes: that is when the process is killed.
      if (requests === 6) {
        taken.take(eventsOf(request))
        held.resolve()
      }
      return requests >= 6 && requests < 100 ? new Promise<Reply>(() => {}) : null
    })
    const events = many(12_000).map((one, n) => ({
      ...one,
      event_id: n % 2 === 0 ? one.event_id : undefined,
      install_uuid: n % 100 === 7 ? undefined : one.install_uuid,
    }))
    const path = await fileWith('a.jsonl', jsonl(events))
    const args = ['backfill', '--key', key, '--json', path]
    const first = startTributary(args, env)
    await held.promise
    await waitFor(async () => JSON.parse(await readFile(`${path}.backfill.json`, 'utf8')).line >= 2000)
    first.child.kill('SIGKILL')
    await once(first.child, 'close')
    // What a killed run wrote behind its saved state must not stand twice in the file.
    await appendFile(`${path}.rejected.jsonl`, `{"line":999999,"text":"${'x'.repeat(200_000)}`)
    requests = 100
    const second = await tributary([...args, '--resume'], env)
    expect(second.stderr).toBe('')
    const answer = answerOf(second)
    expect(answer).toEqual(totals(11_880, 120, expect.any(Number) as unknown as number))
    expect(answer.duplicates_possible).toBeGreaterThan(0)
    expect(answer.duplicates_possible).toBeLessThanOrEqual(2000)
    expect(shelf.events.size).toBe(11_880)
    expect((await rejectedBeside(path)).map(({ line }) => line)).toEqual(
      events.flatMap((_, n) => (n % 100 === 7 ? [n + 1] : [])),
    )
    const requests_before = requests
    expect(answerOf(await tributary([...args, '--resume'], env))).toEqual({ ...answer, seconds: expect.any(Number) })
    expect(requests).toBe(requests_before)
  })

  it('refuses to resume a file that has changed, and a second run at the same time', async () => {
    const { env } = await bulkService(() => null)
    const path = await fileWith('a.jsonl', jsonl(many(5)))
    const args = ['backfill', '--key', key, '--json', path]
    await tributary(args, env)
    await appendFile(path, jsonl([event(6)]))
    const changed = await tributary([...args, '--resume'], env)
    expect(changed).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(changed.stderr)).toMatchObject({ error: 'backfill_changed' })

    const open = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<null>()
    const slow = await bulkService(() => {
      open.resolve()
      return answer.promise
    })
    const first = startTributary(args, slow.env)
    await open.promise
    expect(JSON.parse((await tributary(args, slow.env)).stderr)).toMatchObject({ error: 'backfill_running' })
    answer.resolve(null)
    expect((await first.ended).code).toBe(0)
  })

  it('ends with 1 and the counts by reason when not one line was accepted', async () => {
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

  it('names --resume when it is interrupted, and goes on there', async () => {
    const held = Promise.withResolvers<void>()
    let holds = true
    const { shelf, env } = await bulkService(async () => {
      if (!holds) return null
      held.resolve()
      return new Promise<Reply>(() => {})
    })
    const args = ['backfill', '--key', key, '--json', await fileWith('a.jsonl', jsonl(many(3000)))]
    const first = startTributary(args, env)
    await held.promise
    first.child.kill('SIGINT')
    const { code, stdout, stderr } = await first.ended
    expect([code, stdout, JSON.parse(stderr).error]).toEqual([1, '', 'interrupted'])
    expect(JSON.parse(stderr).message).toContain('--resume')
    holds = false
    expect(answerOf(await tributary([...args, '--resume'], env))).toEqual(totals(3000, 0))
    expect(shelf.events.size).toBe(3000)
  })

  it('stops with the code of a key that is refused, and can be resumed with it', async () => {
    let revoked = true
    const { shelf, env } = await bulkService(() => {
      return revoked ? { status: 401, body: { error: 'unknown_or_revoked_key' } } : null
    })
    const args = ['backfill', '--key', key, '--json', await fileWith('a.jsonl', jsonl(many(5)))]
    const refused = await tributary(args, env)
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(refused.stderr)).toEqual({
      error: 'unknown_or_revoked_key',
      message: 'The server key is unknown or revoked.',
    })
    revoked = false
    expect(answerOf(await tributary([...args, '--resume'], env))).toEqual(totals(5, 0))
    expect(shelf.events.size).toBe(5)
  })

  it('gives up after --retry-for seconds without a service', async () => {
    const args = ['backfill', '--key', key, '--retry-for', '0.2', '--json']
    const path = await fileWith('a.jsonl', jsonl(many(1)))
    const run = await tributary([...args, path], { TRIBUTARY_URL: 'http://127.0.0.1:1' })
    expect(run).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(run.stderr)).toMatchObject({ error: 'unavailable' })
  })

  it('says that a gzip file is broken, having sent what could be read', async () => {
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

  it('reads CSV with renamed columns, constants, absent values and typed fields', async () => {
    const { shelf, env } = await bulkService(() => null)
    const path = await fileWith(
      'a.csv',
      'id,when,user,amount,note,junk\nx1,2013-01-01T10:00:00Z,i1,14.5,"a, ""b""",1\nx2,1357000000000,i2,NA,,2\nx3,1\n',
    )
    const map = ['id=event_id', 'when=event_ts_ms', 'user=install_uuid', 'amount=revenue', 'note=props.note', 'junk=']
    const args = ['backfill', '--key', key, '--json', path, '--set', 'event_name=buy', '--absent', 'NA']
    const run = await tributary([...args, ...map.flatMap((pair) => ['--map', pair])], env)
    expect(answerOf(run)).toEqual(totals(2, 1))
    expect(await rejectedBeside(path)).toEqual([{ line: 4, reason: 'bad_csv', field: null, text: 'x3,1' }])
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

async function waitFor(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!(await condition().catch(() => false))) {
    if (performance.now() > deadline) throw new Error('waited too long')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
