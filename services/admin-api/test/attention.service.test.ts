import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AttentionItem, attentionDocs } from '@tributary/contracts/admin/attention'
import type { SystemStatus } from '@tributary/contracts/admin/system'
import { day_ms, limits } from '@tributary/contracts/limits'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { addOwed, endTries, takeDue } from '@tributary/tables/partners/due-postbacks'
import {
  addDue as addDueReceipts,
  endTries as endReceiptTries,
  takeDue as takeDueReceipts,
} from '@tributary/tables/receipts/due-receipts'
import { quota_kept_ms, quotaKey } from '@tributary/tenancy/quota/quota-key'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { expect, test } from 'vitest'
import { peopleWorld } from './people/people-world.ts'

const broker = memoryBroker(4, Date.now)
const keyValue = memoryKeyValue(Date.now)
const status: SystemStatus = { ready: true, consumers: [], bindings: {} }
const disk = { code: 'disk_low', message: 'The disk has 1 GiB left.', fix: 'make room', refuses: false }
/** Last day with events by app. */
const lastDays = new Map<string, string>()
let isAway = false
/** Statements that run, and the most that ran at once. */
const running = { now: 0, most: 0 }
const clickhouse = {
  async query<Row>(sql: string) {
    if (isAway) throw new Error('ClickHouse is away')
    running.now += 1
    running.most = Math.max(running.most, running.now)
    // Long enough for another look to meet it.
    for (let n = 0; n < 500; n += 1) await new Promise(setImmediate)
    running.now -= 1
    return [...lastDays].flatMap(([app_id, last_day]) => (sql.includes(app_id) ? [{ app_id, last_day } as Row] : []))
  },
}
const world = peopleWorld({ broker, keyValue, clickhouse, status: async () => status, troubles: [() => [disk]] })
const { ask, clock, newApp, signedIn } = world
const items = async (browser: { ask: typeof ask | Awaited<ReturnType<typeof signedIn>>['ask'] }) =>
  (await browser.ask('GET', '/attention')).body.items as AttentionItem[]
const codes = async (browser: Parameters<typeof items>[0]) => (await items(browser)).map(({ code }) => code)
const utcDay = (at_ms: number) => new Date(at_ms).toISOString().slice(0, 10)

test('operators see what the installation says of itself, and nothing of a company', async () => {
  await newApp()
  const operator = await signedIn('operator')
  expect(await codes(operator)).toEqual(['process_trouble'])
  clock.now_ms += limits.attention_fresh_ms
  status.bindings = { analytics: { status: 'down', latency_ms: 2000 }, database: { status: 'ok', latency_ms: 1 } }
  const lag = { topic: 'events.accepted.v1', lag: 5 }
  status.consumers = [
    { name: 'event-writer', ...lag, oldest_unwritten_ms: limits.attention_lag_ms + 1 },
    { name: 'install-finder', ...lag, oldest_unwritten_ms: limits.attention_lag_ms },
  ]
  const headers = { reason: 'invalid', source_offset: '1', first_seen_ms: '5', attempts: '1' }
  const topic = deadLetterTopic(topics.eventsAccepted).name
  await broker.publish([{ topic, partition: 0, key: null, value: Buffer.from('{}'), headers }])
  const found = await items(operator)
  expect(found.map(({ code, company_id }) => [code, company_id])).toEqual(
    ['binding_down', 'consumer_lags', 'dead_letters', 'process_trouble'].map((code) => [code, null]),
  )
  expect(found[0]?.message).toBe('analytics does not answer.')
  expect(found[1]).toMatchObject({ since_ms: clock.now_ms - limits.attention_lag_ms - 1 })
  expect(found[2]?.fix).toContain('dead retry --topic events.accepted.v1 --reason invalid')
  expect(found[3]).toMatchObject({ message: 'disk_low: The disk has 1 GiB left.', fix: 'make room' })
  expect(await items(world)).toEqual(found)
})

test('no command to paste holds what the writer of a record chose', async () => {
  clock.now_ms += limits.attention_fresh_ms
  const headers = { reason: '$(id)', source_offset: '2', first_seen_ms: '5', attempts: '1' }
  const topic = deadLetterTopic(topics.eventsAccepted).name
  await broker.publish([{ topic, partition: 0, key: null, value: Buffer.from('{}'), headers }])
  const letters = (await items(world)).filter(({ code }) => code === 'dead_letters')
  expect(letters.map(({ message }) => message).join()).toContain('$(id)')
  expect(letters.map(({ fix }) => fix).join()).not.toContain('$(id)')
})

test('operators see in which stores the reconciler has found differences, and where the first one is', async () => {
  const operator = await signedIn('operator')
  const values = `('app_1', 1780304400000, 'events.accepted.v1', false, 5, 3, '["event e1"]', 7, 7),
    ('app_1', 1780308000000, 'events.accepted.v1', false, 1, 0, '[]', 9, 9)`
  await world.query(`INSERT INTO reconcile_differences
    (app_id, hour_ms, store, is_surplus, expected, found, examples, found_at_ms, looked_at_ms) VALUES ${values}`)
  clock.now_ms += limits.attention_fresh_ms
  const found = (await items(operator)).filter(({ code }) => code === 'stores_differ')
  const message = '2 hours differ in events.accepted.v1. The first: 2026-06-01 09:00, app_1.'
  expect(found).toMatchObject([{ message, since_ms: 7, company_id: null }])
  expect(found[0]!.fix).toContain('npx tributary reconcile --since 2026-06-01.')
  expect(JSON.stringify(found)).not.toContain('e1')
  await world.query('DELETE FROM reconcile_differences')
  clock.now_ms += limits.attention_fresh_ms
  expect((await items(operator)).map(({ code }) => code)).not.toContain('stores_differ')
})

test('people see the facts of their companies and apps, and of no other', async () => {
  const [one, other] = [await newApp(), await newApp()]
  const second = (await ask('POST', '/apps', { company_id: one.company_id, name: 'Second', platform: 'android' })).body
  const owner = await signedIn('owner', one.company_id)
  const agency = await signedIn('analyst', one.company_id, { app_ids: [second.app_id] })
  const stranger = await signedIn('owner', other.company_id)
  expect(await items(owner)).toEqual([])

  await ask('PATCH', `/companies/${one.company_id}`, { monthly_quota: 1000 })
  const spend = (n: number) => keyValue.addCapped(quotaKey(one.company_id, clock.now_ms), n, null, quota_kept_ms)
  await spend(800)
  expect(await codes(owner)).toEqual([])
  await spend(1)
  lastDays.set(one.app_id, utcDay(clock.now_ms - 2 * day_ms)).set(second.app_id, utcDay(clock.now_ms - day_ms))
  expect(await items(owner)).toMatchObject([
    {
      code: 'quota_nearly_used',
      company_id: one.company_id,
      app_id: null,
      message: '80 % of the events of this month are used.',
    },
    { code: 'app_silent', app_id: one.app_id, since_ms: Date.parse(utcDay(clock.now_ms - day_ms)) },
  ])
  expect(await items(agency)).toEqual([])
  lastDays.set(second.app_id, utcDay(clock.now_ms - 9 * day_ms))
  await ask('POST', `/apps/${second.app_id}/rotate-secret`, { overlap_hours: 25 })
  expect(await codes(agency)).toEqual(['app_silent'])
  await ask('POST', `/apps/${second.app_id}/rotate-secret`, { overlap_hours: 23 })
  expect(await items(agency)).toMatchObject([
    { code: 'secret_ends', app_id: second.app_id },
    { code: 'app_silent', app_id: second.app_id },
  ])
  expect(await items(stranger)).toEqual([])
  await ask('POST', `/companies/${one.company_id}/suspend`)
  expect(await codes(agency)).toEqual([])
})

test('a part that is away hides nothing of the others, and is named', async () => {
  const { company_id, app_id } = await newApp()
  const owner = await signedIn('owner', company_id)
  await ask('POST', `/apps/${app_id}/rotate-secret`, { overlap_hours: 1 })
  isAway = true
  const { body } = await owner.ask('GET', '/attention')
  expect(body).toMatchObject({ items: [{ code: 'secret_ends' }], unchecked: ['app_silent'] })
  isAway = false
  expect((await owner.ask('GET', '/attention')).body.unchecked).toEqual([])
})

test('a person who asks without pause runs few looks at once, waits after a while, and slows nobody else for long', async () => {
  const { company_id } = await newApp()
  const [greedy, other] = [await signedIn('owner', company_id), await signedIn('analyst', company_id)]
  running.most = 0
  const asked = Array.from({ length: limits.attention_requests_max + 5 }, () => greedy.ask('GET', '/attention'))
  expect(await other.ask('GET', '/attention')).toMatchObject({ status: 200 })
  const statuses = (await Promise.all(asked)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 429)).toHaveLength(5)
  expect(statuses.filter((status) => status === 200)).toHaveLength(limits.attention_requests_max)
  expect(running.most).toBe(limits.attention_looks_max)
  expect(await other.ask('GET', '/attention')).toMatchObject({ status: 200 })
})

test('each code leads to a section of the documents', () => {
  for (const [code, address] of Object.entries(attentionDocs)) {
    const [, page, section] = /^\/docs\/(\w+)#([\w-]+)$/.exec(address) ?? []
    const text = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', `${page}.md`), 'utf8')
    const sections = [...text.matchAll(/^##+ (.+)$/gm)].map(([, title = '']) =>
      title.toLowerCase().replaceAll(' ', '-'),
    )
    expect(sections, code).toContain(section)
  }
})

test('a partner that refuses postbacks, or is not reached for an hour, needs attention of its company', async () => {
  const { app_id, company_id } = await newApp()
  const owner = await signedIn('owner', company_id)
  const postback_url = 'https://8.8.8.8/'
  for (const partner of ['refuses', 'away']) {
    expect((await owner.ask('PUT', '/partners', { app_id, partner, postback_url })).status).toBe(200)
    const [{ id }] = await world.query('SELECT max(settings_id)::text AS id FROM partner_postbacks')
    const content = { event_name: 'install' } as never
    const one = { app_id, partner, install_uuid: 'i', event_key: 'install', settings_id: id, content }
    await addOwed(world.pool(), [{ ...one, received_at_ms: 0, dated_at_ms: 0 }], clock.now_ms)
  }
  expect(await codes(owner)).not.toContain('partner_fails')
  const [taken] = await takeDue(world.pool(), [{ app_id, partner: 'refuses', max: 1 }])
  const dead = { ...taken!, state: 'dead' as const, pause_ms: 0, reason: 'status_404' as const }
  await endTries(world.pool(), [dead], clock.now_ms)
  const failing = async () => (await items(owner)).filter(({ code }) => code === 'partner_fails')
  expect(await failing()).toMatchObject([{ app_id, message: expect.stringContaining('1 were given up') }])
  clock.now_ms += limits.partner_late_ms + 1
  expect((await failing()).map(({ message }) => message.split(' ')[0])).toEqual(['away', 'refuses'])
})

test('receipts that wait for a store or for credentials for an hour need attention, and a payment that is pending does not', async () => {
  const { app_id, company_id } = await newApp()
  const owner = await signedIn('owner', company_id)
  const place = { app_id, install_uuid: 'i', day: '2026-06-01', topic: 't', partition: 0, asks: 'google' as const }
  const event = { event_name: 'purchase', product_id: null, transaction_id: null, receipt: {}, dated_at_ms: 0 }
  const wait = async (offset: number, reason: 'store_away' | 'no_credentials' | 'pending_purchase') => {
    await addDueReceipts(world.pool(), [{ ...place, ...event, event_key: '1', offset }])
    const taken = await takeDueReceipts(world.pool(), { app_id, max: 9, resting: [] })
    expect(taken).toHaveLength(1)
    await endReceiptTries(world.pool(), { judged: [], put_off: [{ taken: taken[0]!, pause_ms: 86_400_000, reason }] })
  }
  const later = () => world.query(`UPDATE due_receipts SET tried_from_ms = tried_from_ms - ${limits.receipts_late_ms}`)
  const waiting = async () => (await items(owner)).filter(({ code }) => code === 'receipts_wait')
  await wait(1, 'pending_purchase')
  await later()
  await wait(2, 'no_credentials')
  expect(await waiting()).toEqual([])
  await later()
  expect(await waiting()).toMatchObject([{ app_id, message: expect.stringContaining('credentials that') }])
  await wait(3, 'store_away')
  await world.query('DELETE FROM due_receipts WHERE "offset" = 2')
  expect(await waiting()).toEqual([])
  await later()
  expect(await waiting()).toMatchObject([{ app_id, message: expect.stringContaining('an answer of') }])
})
