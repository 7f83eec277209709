import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { EventShelf, type Received, type Reply, startService } from './fake-service.ts'
import { fileWith, tributary } from './run-tributary.ts'

const secret = 'c0ffee'.repeat(10)
const keys = ['--app-key', 'app_live_1', '--company-key', 'co_live_1', '--secret', secret]
const lines = (events: readonly object[]) => events.map((one) => JSON.stringify(one)).join('\n')
const many = (count: number, more: (n: number) => object = () => ({})) =>
  Array.from({ length: count }, (_, n) => ({
    event_id: `e${n}`,
    event_name: 'open',
    install_uuid: `i${n % 5}`,
    ...more(n),
  }))

/** Checks a batch as the gateway does: keys, signature over the bytes on the wire, gzip, shape, sizes. */
function readBatch({ path, headers, body }: Received): Record<string, unknown>[] {
  expect(path).toBe('/event')
  expect(headers).toMatchObject({
    'content-encoding': 'gzip',
    'x-service-app-key': 'app_live_1',
    'x-service-company-key': 'co_live_1',
    'x-service-signature': createHmac('sha256', secret).update(body).digest('hex'),
  })
  expect(body.length).toBeLessThanOrEqual(1024 * 1024)
  const inflated = gunzipSync(body)
  expect(inflated.length).toBeLessThanOrEqual(8 * 1024 * 1024)
  const { events, sent_at_ms } = JSON.parse(inflated.toString())
  expect(Math.abs(Date.now() - sent_at_ms)).toBeLessThan(60_000)
  expect(events.length).toBeLessThanOrEqual(500)
  return events
}

async function eventService(
  before: (events: Record<string, unknown>[], shelf: EventShelf) => Reply | null = () => null,
) {
  const shelf = new EventShelf()
  const service = await startService((request) => {
    try {
      const events = readBatch(request)
      return before(events, shelf) ?? shelf.take(events)
    } catch (error) {
      return { status: 400, body: { error: 'missing_auth_headers', message: String(error) } }
    }
  })
  onTestFinished(() => service.close())
  return { shelf, env: { TRIBUTARY_URL: service.url } }
}

describe('tributary send', () => {
  it('sends constants on each line, and no texts that mean no value', async () => {
    const { shelf, env } = await eventService()
    const told = [
      {
        event_id: 'a',
        event_name: 'buy',
        install_uuid: 'i1',
        revenue: 'NA',
        user_id: '',
        props: { level: 'NA', a: 1 },
      },
      { event_id: 'b', event_name: 'buy', install_uuid: 'i2', revenue: 2, device: { os: 'android' } },
    ]
    const set = ['--set', 'device.os=ios', '--set', 'revenue=4.5', '--absent', 'NA']
    const file = await fileWith('a.jsonl', `${lines(told)}\nno json`)
    const run = await tributary(['send', ...keys, ...set, file, '--json'], env)
    expect(JSON.parse(run.stdout)).toMatchObject({ accepted: 2, rejected: 1 })
    expect([...shelf.events.values()]).toEqual([
      { ...told[0], revenue: 4.5, props: { a: 1 }, device: { os: 'ios' } },
      { ...told[1], revenue: 4.5, device: { os: 'ios' } },
    ])
  })

  it('sends signed, gzipped batches of at most 500 events and prints exactly the documented totals', async () => {
    const { shelf, env } = await eventService()
    const run = await tributary(['send', ...keys, await fileWith('a.jsonl', lines(many(1201))), '--json'], env)
    expect(run).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(run.stdout)).toEqual({ accepted: 1201, rejected: 0, batches: 3, seconds: expect.any(Number) })
    expect(shelf.events.size).toBe(1201)
  })

  it('keeps every request under 1 MiB on the wire, however badly the events compress', async () => {
    const { shelf, env } = await eventService()
    const noise = () => Buffer.from(crypto.getRandomValues(new Uint8Array(6000))).toString('base64')
    const path = await fileWith('a.jsonl', lines(many(400, () => ({ props: { noise: noise() } }))))
    const run = await tributary(['send', ...keys, '--json', path], env)
    expect(JSON.parse(run.stdout)).toMatchObject({ accepted: 400, rejected: 0 })
    expect(shelf.events.size).toBe(400)
  })

  it('sends again under the same event_ids when an answer is lost or the service is unavailable', async () => {
    let requests = 0
    const { shelf, env } = await eventService((events, taken) => {
      requests += 1
      if (requests === 1) {
        taken.take(events)
        return { status: 0, hang_up: true }
      }
      return requests === 2 ? { status: 503, body: { error: 'audit_write_failed' } } : null
    })
    const path = await fileWith('a.jsonl', lines(many(20, (n) => (n < 10 ? { event_id: undefined } : {}))))
    const run = await tributary(['send', ...keys, '--json', path], env)
    expect(JSON.parse(run.stdout)).toMatchObject({ accepted: 20, rejected: 0, batches: 1 })
    expect(shelf.events.size).toBe(20)
  })

  it('warns once of fields that events do not have, and sends the lines', async () => {
    const { shelf, env } = await eventService()
    const path = await fileWith('a.jsonl', lines(many(3, () => ({ price: 1 }))))
    const run = await tributary(['send', ...keys, path], env)
    expect(run.stderr.match(/^Warning: .* price \(did you mean revenue\?\)\. /gm)).toHaveLength(1)
    expect(shelf.events.size).toBe(3)
  })

  it('writes rejected lines beside the file', async () => {
    const { env } = await eventService()
    const path = await fileWith('a.jsonl', `{"event_id":"a"}\nnot json\n${lines(many(1))}`)
    const run = await tributary(['send', ...keys, path], env)
    expect(run.stderr).toBe('')
    expect(run.stdout).toContain('1 accepted, 2 rejected, 1 batches')
    const rejected = (await readFile(`${path}.rejected.jsonl`, 'utf8')).trim().split('\n')
    expect(rejected.map((line) => JSON.parse(line))).toEqual([
      { line: 1, reason: 'missing_required_fields', field: null, message: null, text: '{"event_id":"a"}' },
      { line: 2, reason: 'bad_json', field: null, message: null, text: 'not json' },
    ])
  })

  it('fails with bad_signature when the secret is wrong', async () => {
    const { env } = await eventService(() => ({ status: 401, body: { error: 'bad_signature' } }))
    const run = await tributary(['send', ...keys, '--json', await fileWith('a.jsonl', lines(many(1)))], env)
    expect(run).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(run.stderr)).toMatchObject({ error: 'bad_signature' })
  })
})
