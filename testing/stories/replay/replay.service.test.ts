import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { authorization } from '@tributary/admin-api/test/admin-app'
import type { Click } from '@tributary/contracts/attribution/click'
import type { Envelope } from '@tributary/contracts/envelope'
import { day_ms } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { utcDay } from '@tributary/domain/utc-day'
import { replayWhenAsked } from '@tributary/replayer/replay-when-asked'
import { archiveClicks } from '@tributary/tables/attribution/click-archive'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import pino from 'pino'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { adminAndReplayer } from '../admin-and-replayer.ts'

const audit = memoryAuditStore()
const log = { broker: memoryBroker(2, Date.now) }
/** Every call goes to the log of the present test. */
const broker = {
  publish: (...given: Parameters<typeof log.broker.publish>) => log.broker.publish(...given),
  consume: (...given: Parameters<typeof log.broker.consume>) => log.broker.consume(...given),
  groupOffsets: (...given: Parameters<typeof log.broker.groupOffsets>) => log.broker.groupOffsets(...given),
  partitionCount: (...given: Parameters<typeof log.broker.partitionCount>) => log.broker.partitionCount(...given),
}
const analytics = { fault: null as Error | null }
const clickhouse = {
  async query<Row>(): Promise<Row[]> {
    if (analytics.fault) throw analytics.fault
    return []
  },
  isInserting: async () => false,
  stream: async () => Readable.from([]),
  ...{ insert: async () => {}, command: async () => {}, checkHealth: async () => {}, close: async () => {} },
}
const said: Record<string, unknown>[] = []
const logger = pino({ base: null }, { write: (line: string) => said.push(JSON.parse(line)) })
let filled = 0
const beginReplay = () => () => {
  filled += 1
}
const engines = { audit, broker, clickhouse, logger }
const { inject, listen, ask, query, newApp, auditOf, erase } = adminAndReplayer(engines, (deps) =>
  replayWhenAsked({ ...deps, ...engines, now: Date.now, beginReplay }),
)
beforeEach(() => {
  said.length = 0
  filled = 0
  log.broker = memoryBroker(2, Date.now)
  analytics.fault = null
})

/** The last line of the answer. */
async function replay(asked: object) {
  const answer = await inject('/replays', { method: 'POST', payload: JSON.stringify(asked) })
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'application/x-ndjson; charset=utf-8'])
  return JSON.parse(answer.body.trim().split('\n').at(-1)!)
}

const topic = topics.eventsAccepted.name
const received_at_ms = Date.UTC(2026, 5, 1, 12)
const event = (event_id: string) => ({ event_id, event_name: 'e', install_uuid: 'i', event_ts_ms: received_at_ms })
const head = { received_at_ms, ip: '', headers: { 'user-agent': '', 'x-service-sdk': '', 'x-service-platform': '' } }
const line = (...ids: string[]) => `${JSON.stringify({ ...head, body: { events: ids.map(event) } })}\n`

/** Records behind the writer: what it has before it, it writes itself, and a replay waits for that. */
async function logged(app_id: string, values: Buffer[]) {
  await log.broker.publish(values.map((value) => ({ topic, partition: 0, key: `${app_id}/i`, value })))
  const written = Promise.withResolvers<void>()
  const writer = await log.broker.consume({
    ...{ group: 'event-writer', topic, bytes_min: 1, bytes_max: 1e6, wait_ms_max: 1 },
    async onChunk({ records, commit }) {
      await commit(records.at(-1)!.offset + 1)
      written.resolve()
    },
  })
  await written.promise
  await writer.close()
}

function envelopeOf(app_id: string, company_id: string): Envelope {
  const facts = { received_at_ms, ip: '', user_agent: '', sdk: '', sdk_platform: '', audit_key: 'k' }
  return { v: 1, company_id, app_id, platform: 'ios', source: 'sdk', install_uuid: 'i', ...facts, events: [event('1')] }
}

function clickOf(app_id: string, company_id: string, clicked_at_ms = Date.now()): Click {
  const absent = { ad_group: null, creative: null, ext_click_id: null, deep_link: null, lookback_hours: null }
  const subs = { sub1: null, sub2: null, sub3: null, sub4: null, sub5: null }
  return {
    ...{ v: 1, click_id: randomUUID().replace(/(?<=^.{14})4/, '7'), company_id, app_id, link_id: 'l', partner: 'acme' },
    ...{ campaign: null, ...absent, ...subs, clicked_at_ms, filtered_reason: null, country: null },
    ...{ ip: '192.0.2.1', user_agent: '', os: 'android', os_major: 14, model: null, device_hashes: [] },
  }
}

test('each start is in the audit log of the admin API', async () => {
  const { app_id } = await newApp()
  await replay({ source: 'audit', app_id, dry_run: true })
  expect(await auditOf(app_id)).toMatchObject([
    { action: 'app.create' },
    { action: 'replay.start', detail: { source: 'audit', app_id, dry_run: true } },
  ])
})

test('its start and its end are lines of the log, the end with all counts and how far it came', async () => {
  const { app_id, company_id } = await newApp()
  await logged(app_id, [Buffer.from(JSON.stringify(envelopeOf(app_id, company_id))), Buffer.from('no JSON')])
  const end = await replay({ source: 'log', app_id, dry_run: true })
  expect(end).toMatchObject({ state: 'done', percent: 100, at: '2 of 2 records', seconds: expect.any(Number) })
  const lines = said.filter(({ msg }) => String(msg).startsWith('replay'))
  expect(lines).toMatchObject([
    { msg: 'replay started', source: 'log', app_id, dry_run: true },
    {
      msg: 'replay ended',
      state: 'done',
      replayed: 1,
      filled: 1,
      unknown: 1,
      unknown_reasons: { unreadable_record: 1 },
    },
  ])
})

test('only a replay of the whole audit store says that nothing misses any more', async () => {
  const { app_id } = await newApp()
  for (const asked of [{ source: 'log' }, { source: 'audit', dry_run: true }, { source: 'audit', app_id }])
    await replay(asked)
  await replay({ source: 'audit', since_ms: received_at_ms })
  expect(filled).toBe(0)
  await replay({ source: 'audit' })
  expect(filled).toBe(1)
})

describe('refuses', () => {
  test.each([
    [{}, 'source'],
    [{ source: 'tape' }, 'source'],
    [{ source: 'log', since_ms: -1 }, 'since_ms'],
    [{ source: 'log', since_ms: 8.64e15 + 1 }, 'since_ms'],
    [{ source: 'log', until_ms: 1 }, 'until_ms'],
  ])('%j', async (asked, field) => {
    expect((await ask('POST', '/replays', asked)).body).toMatchObject({ error: 'invalid_field', field })
  })

  test('an app that nobody has', async () => {
    const { status, body } = await ask('POST', '/replays', { source: 'log', app_id: `app_${randomUUID()}` })
    expect([status, body.error]).toEqual([404, 'unknown_app'])
  })
})

test('a replay that fails says so on its last line, and does not keep the next one out', async () => {
  const { app_id, company_id } = await newApp()
  await logged(app_id, [Buffer.from(JSON.stringify(envelopeOf(app_id, company_id)))])
  analytics.fault = new Error('away, at http://user:secret@host')
  const failed = await replay({ source: 'log', app_id, dry_run: true })
  expect(failed).toMatchObject({ state: 'failed', error: 'unavailable' })
  expect(JSON.stringify(failed)).not.toContain('secret')
  analytics.fault = null
  expect(await replay({ source: 'log', app_id, dry_run: true })).toMatchObject({ state: 'done', filled: 1 })
})

test('a record that is no envelope is counted, and those around it are read', async () => {
  const { app_id, company_id } = await newApp()
  const good = Buffer.from(JSON.stringify(envelopeOf(app_id, company_id)))
  await logged(app_id, [good, Buffer.from('{'), good])
  expect(await replay({ source: 'log', app_id, dry_run: true })).toMatchObject({
    ...{ state: 'done', replayed: 2, filled: 1 },
    unknown_reasons: { unreadable_record: 1 },
  })
})

test('what is whole of a damaged object is taken', async () => {
  const { app_id, company_id } = await newApp()
  const put = (n: number, content: Buffer) =>
    audit.putOnce(`audit/2026/06/01/${company_id}/${app_id}/${received_at_ms}-a-${n}.jsonl.gz`, content)
  await put(1, Buffer.concat([gzipSync(line('1', '2')), gzipSync(line('3')).subarray(0, 20)]))
  await put(2, gzipSync(line('4') + line('5').slice(0, 30)))
  await put(3, gzipSync(`{"body":"${'x'.repeat(9 * 1024 * 1024)}"}\n`))
  await put(4, gzipSync(line('6')))
  expect(await replay({ source: 'audit', app_id, dry_run: true })).toMatchObject({
    ...{ state: 'done', replayed: 4, filled: 4 },
    unknown_reasons: { unreadable_object: 3 },
  })
})

test('what a replay puts into the log says whether attribution has to read it', async () => {
  const { app_id, company_id } = await newApp()
  const named = (event_name: string, install_uuid: string) => ({
    ...event(`${event_name}-${install_uuid}`),
    event_name,
    install_uuid,
  })
  const events = [named('e', 'i-1'), named('app_install', 'i-2'), named('_user_alias', 'i-1'), named('e', 'i-3')]
  const member = gzipSync(`${JSON.stringify({ ...head, body: { events } })}\n`)
  await audit.putOnce(`audit/2026/06/01/${company_id}/${app_id}/${received_at_ms}-b-1.jsonl.gz`, member)
  const replaying = replay({ source: 'audit', app_id, dry_run: false })
  const records = () => [0, 1].flatMap((partition) => log.broker.records(topic, partition))
  await vi.waitFor(() => expect(records()).toHaveLength(3), { timeout: 180_000 })
  for (const partition of [0, 1])
    log.broker.setCommitted('event-writer', topic, partition, { offset: records().length, metadata: '' })
  expect(await replaying).toMatchObject({ state: 'done', filled: 4 })
  const facts = records().map(({ key, headers }) => [key, headers.facts])
  expect(Object.fromEntries(facts)).toEqual({
    [`${app_id}/i-1`]: '1',
    [`${app_id}/i-2`]: '1',
    [`${app_id}/i-3`]: '0',
  })
})

test('an audit store that is away ends the replay: nothing is taken for missing', async () => {
  const { app_id } = await newApp()
  await audit.putOnce(`${app_id}/s2s/2026-06-01/a.json`, Buffer.from(JSON.stringify({ ...head, body: event('a') })))
  const { get } = audit
  audit.get = async () => Promise.reject(new Error('away'))
  expect(await replay({ source: 'audit', app_id })).toMatchObject({ state: 'failed', error: 'unavailable', unknown: 0 })
  audit.get = get
})

test('what was erased is neither counted nor put into the log again, and a new life of the install is', async () => {
  const { app_id, company_id } = await newApp()
  const mark_ms = received_at_ms + 1000
  await erase({ app_id, kind: 'install', id: 'i', mark_ms })
  const life = envelopeOf(app_id, company_id)
  const late = { ...life, received_at_ms: mark_ms + 1, events: [event('dated before the mark')] }
  const event_ts_ms = mark_ms + 1
  const anew = { ...life, received_at_ms: mark_ms + 1, events: [{ ...event('new'), event_ts_ms }] }
  const envelopes = [life, late, anew, { ...life, install_uuid: 'other' }]
  await logged(
    app_id,
    envelopes.map((one) => Buffer.from(JSON.stringify(one))),
  )
  expect(await replay({ source: 'log', app_id, dry_run: true })).toMatchObject({ replayed: 4, filled: 2, unknown: 0 })
})

/** Archives clicks as click-writer does. */
async function archived(clicks: readonly Click[]) {
  const source = `${topics.clicksRecorded.name}@${randomUUID()}`
  const batch = { source, partition: 0, from: 0, to: clicks.length - 1, day: utcDay(Date.now()) }
  const place = { topic: source, partition: 0, index: 0 }
  await archiveClicks(
    audit,
    batch,
    clicks.map((click, offset) => ({ ...click, place: { ...place, offset } })),
  )
}

test('a click that was erased is neither counted nor put into the log again', async () => {
  const { app_id, company_id } = await newApp()
  const clicks = [clickOf(app_id, company_id), clickOf(app_id, company_id)]
  await archived(clicks)
  await erase({ app_id, kind: 'click', id: clicks[0]!.click_id, mark_ms: Date.now() })
  expect(await replay({ source: 'audit', app_id, dry_run: true })).toMatchObject({ state: 'done', clicks_filled: 1 })
})

test('a replay keeps all clicks of an app whose salt nobody can read, and those of other apps', async () => {
  const [locked, other] = [await newApp(), await newApp()]
  const clicks = [clickOf(locked.app_id, locked.company_id), clickOf(other.app_id, other.company_id)]
  await erase({ app_id: locked.app_id, kind: 'click', id: clicks[0]!.click_id, mark_ms: Date.now() })
  await query(`UPDATE company_salts SET key_id = 'v2:lost' WHERE company_id = $1`, [locked.company_id])
  await archived(clicks)
  for (const { app_id } of [locked, other])
    expect(await replay({ source: 'audit', app_id, dry_run: true })).toMatchObject({ state: 'done', clicks_filled: 1 })
})

test('a click that retention deleted is neither counted nor put into the log again, although archives keep it', async () => {
  const { app_id, company_id } = await newApp()
  const first_kept_ms = Math.floor(Date.now() / day_ms) * day_ms - day_ms
  await archived([first_kept_ms - 1, first_kept_ms].map((at_ms) => clickOf(app_id, company_id, at_ms)))
  expect(await replay({ source: 'audit', app_id, dry_run: true })).toMatchObject({ state: 'done', clicks_filled: 2 })
  const first_kept = new Date(first_kept_ms).toISOString().slice(0, 10)
  await query('UPDATE companies SET clicks_deleted_before = $2 WHERE company_id = $1', [company_id, first_kept])
  expect(await replay({ source: 'audit', app_id, dry_run: true })).toMatchObject({ state: 'done', clicks_filled: 1 })
})

test('a replay that waits for the writer ends when its caller goes away, and lets the next one in', async () => {
  await log.broker.publish([{ topic, partition: 0, key: 'k', value: Buffer.from('unwritten') }])
  const caller = new AbortController()
  const url = `${await listen()}/admin/api/v1/replays`
  const body = JSON.stringify({ source: 'log' })
  const answer = await fetch(url, { method: 'POST', headers: { authorization }, body, signal: caller.signal })
  expect(await ask('POST', '/replays', { source: 'log' })).toMatchObject({ status: 409 })
  caller.abort()
  await expect(answer.text()).rejects.toThrow()
  const states = () => query('SELECT progress FROM jobs WHERE outcome IS NOT NULL ORDER BY number DESC LIMIT 1')
  await expect.poll(states, { timeout: 10_000 }).toMatchObject([{ progress: { state: 'stopped' } }])
  log.broker = memoryBroker(2, Date.now)
  expect(await replay({ source: 'log' })).toMatchObject({ state: 'done' })
})

/** The most that this thread worked between two turns of its event loop while `work` ran, ms of CPU. */
async function longestTurn(work: Promise<unknown>): Promise<number> {
  let over = false
  const done = work.finally(() => {
    over = true
  })
  let longest_us = 0
  while (!over) {
    const before = process.threadCpuUsage()
    await nextTurn()
    const { user, system } = process.threadCpuUsage(before)
    longest_us = Math.max(longest_us, user + system)
  }
  await done
  return longest_us / 1000
}

test.each(['log', 'audit'] as const)('a replay from the %s holds up nobody in its process', async (source) => {
  const { app_id, company_id } = await newApp()
  const events = Array.from({ length: 200 }, (_, n) => ({
    ...event(`${n}`),
    props: { level: n, name: 'x'.repeat(300) },
  }))
  if (source === 'log') {
    const envelope = { ...envelopeOf(app_id, company_id), events }
    await logged(
      app_id,
      Array.from({ length: 60 }, () => Buffer.from(JSON.stringify(envelope))),
    )
  } else {
    const lines = Array.from({ length: 60 }, (_, n) => {
      const own = events.map((one) => ({ ...one, event_id: `${n}-${one.event_id}` }))
      return `${JSON.stringify({ ...head, body: { events: own } })}\n`
    })
    const key = `audit/2026/06/01/${company_id}/${app_id}/${received_at_ms}-c-1.jsonl.gz`
    await audit.putOnce(key, gzipSync(lines.join('')))
  }
  const replaying = replay({ source, app_id, dry_run: true })
  const longest_ms = await longestTurn(replaying)
  expect(await replaying).toMatchObject({ state: 'done', replayed: 12_000 })
  expect(longest_ms).toBeLessThan(60)
})
