import { randomUUID } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import { clickColumns, clickLine } from '@tributary/attribution/clicks'
import { factColumns, factLine, findFacts } from '@tributary/attribution/facts'
import type { Click } from '@tributary/contracts/attribution/click'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import { day_ms } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { unlessRunning } from '@tributary/postgres/one-at-a-time'
import { uniquesSql } from '@tributary/settled/uniques'
import { changeCompany, createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { retentionJob } from '../../src/retention/retention-job.ts'
import { runRetention } from '../../src/retention/run-retention.ts'

let postgres: TestPostgres
let clickhouse: TestClickhouse
beforeAll(async () => {
  ;[postgres, clickhouse] = await Promise.all([openTestPostgres(), openTestClickhouse()])
})
afterAll(() => Promise.all([postgres.close(), clickhouse.close()]))

/** Noon of a day so near that the TTL of clicks, which knows no other clock than the engine's, leaves them alone. */
const first_ms = Math.floor(Date.now() / day_ms) * day_ms - 42.5 * day_ms
const after = (days: number) => first_ms + days * day_ms
const dayOf = (days: number) => new Date(after(days)).toISOString().slice(0, 10)
const request = { actor: 'test', request_id: 'r', now_ms: first_ms }
const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
const audit = memoryAuditStore()
const broker = memoryBroker(1, () => clock.ms)
const clock = { ms: first_ms }
const pauses: number[] = []
const deps = () => ({
  ...{ pool: postgres.pool, clickhouse, broker, audit, now: () => clock.ms },
  pause: async (ms: number) => void pauses.push(ms),
  logger: pino({ level: 'silent' }),
})
const runAt = (days: number) => {
  clock.ms = after(days)
  return runRetention(deps(), new AbortController().signal)
}

const [ip, user_agent] = ['203.0.113.77', 'Agent/7.7 (secret)']

async function newApp() {
  const { company_id } = await createCompany(postgres.pool, { name: 'A', plan: 'free' }, request)
  const input = { company_id, name: 'Game', platform: 'android' as const }
  const { app_id } = await createApp(postgres.pool, masterKeys, input, request)
  return { company_id, app_id }
}

/** On some days an event, a click and an install, each with an address, and an audit object of each kind. */
async function fill({ company_id, app_id }: { company_id: string; app_id: string }, days: readonly number[]) {
  const device = JSON.stringify({ model: 'Pixel', ip, said: '"ip":"' })
  const events = days.map((day) => {
    const at = { ts_ms: after(day), received_at_ms: after(day) }
    return testEventRow({ app_id, company_id, ip, user_agent, device, source: 's2s', ...at })
  })
  await clickhouse.insertEvents(events, randomUUID())
  const places = days.map((day) => ({ topic: 't@a', partition: 0, offset: day + Math.random(), index: 0 }))
  const insert = (table: string, columns: readonly string[], lines: string[]) =>
    clickhouse.insert({ table, columns, lines: lines.join('\n'), token: randomUUID() })
  const clicks = days.map((day, n) => clickLine(clickOf(app_id, after(day)), { ...places[n]!, offset: day }))
  await insert('clicks_raw_v1', clickColumns, clicks)
  const facts = days.map((day) => factLine(factOf(app_id, company_id, day)))
  await insert('install_facts_v1', factColumns, facts)
  for (const day of days) {
    const [on, path] = [dayOf(day), dayOf(day).replaceAll('-', '/')]
    const head = `{"received_at_ms":${after(day)},"ip":"${ip}","headers":{"user-agent":"${user_agent}"},"body":`
    const event = `{"install_uuid":"i","props":{"ip":"kept"},"device":{"ip":"${ip}"}}`
    const batch = `${head}{"events":[${event},${event}]}}`
    audit.objects.set(`audit/${path}/${company_id}/${app_id}/1-g-1.jsonl.gz`, gzipSync(`${batch}\n${batch}\n`))
    audit.objects.set(`${app_id}/s2s/${on}/e.json`, Buffer.from(`${head}${event}}`))
    audit.objects.set(`${app_id}/s2s/bulk/${on}/b.json`, Buffer.from(batch))
    audit.objects.set(`${app_id}/privacy/${on}/i~1.json`, Buffer.from('{}'))
    const archive = `clicks/${path}/log/0/1-2.jsonl.gz`
    const archived = audit.objects.has(archive) ? gunzipSync(audit.objects.get(archive)!) : ''
    const click = JSON.stringify(clickOf(app_id, after(day)))
    audit.objects.set(archive, gzipSync(`${archived}${click}\n`))
  }
}

const nothing = { ad_group: null, creative: null, ext_click_id: null, deep_link: null, country: null, campaign: null }
const subs = { sub1: null, sub2: null, sub3: null, sub4: null, sub5: null }
const clickOf = (app_id: string, clicked_at_ms: number): Click => ({
  ...{
    v: 1,
    click_id: uuidAt(clicked_at_ms),
    company_id: 'co',
    app_id,
    link_id: 'l',
    partner: 'p',
    ...nothing,
    ...subs,
  },
  ...{ lookback_hours: null, clicked_at_ms, filtered_reason: null, ip, user_agent, os: 'android', os_major: 14 },
  ...{ model: 'Pixel', device_hashes: ['d'] },
})
const uuidAt = (ms: number) => {
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${randomUUID().slice(-12)}`
}
const factOf = (app_id: string, company_id: string, day: number): InstallFact => ({
  ...{ kind: 'install', v: 1, company_id, app_id, install_uuid: `i${day}`, received_at_ms: after(day) },
  ...{ place: { topic: 't@a', partition: 0, offset: day, index: 0 }, event_name: 'app_install', is_sdk: true },
  ...{ platform: 'android', installed_at_ms: after(day), ip, os_major: 14, model: '","ip":"', device_hashes: ['d'] },
  ...{ user_id: null, referrer: null, named_click: null, referrer_click_server_s: null, install_begin_server_s: null },
})

/** The days whose rows still hold an address or an agent, by table. */
async function addresses(app_id: string) {
  const holding = `(ip != '' OR user_agent != '' OR position(concat(ip, user_agent, $text), '203.0.113') > 0)`
  const read = async (sql: string) => (await clickhouse.query<{ on: string }>(sql)).map(({ on }) => on)
  const of = `app_id = '${app_id}' GROUP BY day ORDER BY day`
  return {
    events: await read(
      `SELECT toString(day) AS on FROM events_raw_v1 WHERE ${holding.replace('$text', 'device')} AND ${of}`,
    ),
    clicks: await read(
      `SELECT toString(day) AS on FROM clicks_raw_v1 WHERE ${holding.replace('$text', 'click')} AND ${of}`,
    ),
    facts: await read(
      `SELECT toString(day) AS on FROM install_facts_v1 WHERE position(fact, '203.0.113') > 0 AND ${of}`,
    ),
  }
}
/** The audit objects of an app, archives included, that still hold its address or agent. */
const objectsWithAddresses = (app_id: string) =>
  [...audit.objects].flatMap(([key, content]) => {
    const text = (key.endsWith('.gz') ? gunzipSync(content) : content).toString()
    const lines = text
      .split('\n')
      .filter((line) => (key.includes(app_id) || line.includes(app_id)) && /203\.0\.113|Agent/.test(line))
    return lines.length > 0 ? [key] : []
  })
const daysIn = async (table: string, app_id: string, day = 'day') =>
  (
    await clickhouse.query<{ on: string }>(
      `SELECT DISTINCT toString(${day}) AS on FROM ${table} WHERE app_id = '${app_id}' ORDER BY on`,
    )
  ).map(({ on }) => on)
const on = (...days: number[]) => days.map(dayOf)
const eachOf = (...days: number[]) => ({ events: on(...days), clicks: on(...days), facts: on(...days) })

test('what is older than the settings of its company goes, in the night after they were shortened too', async () => {
  const [usual, brief] = [await newApp(), await newApp()]
  for (const app of [usual, brief]) await fill(app, [0, 20, 40])
  const nothing = { rows: {}, objects_blanked: 0, objects_deleted: 0 }
  expect(await runAt(30)).toEqual(nothing)

  // By default addresses go after 30 days, and nothing else.
  await runAt(41)
  for (const { app_id } of [usual, brief]) {
    expect(await addresses(app_id)).toEqual(eachOf(20, 40))
    expect(objectsWithAddresses(app_id)).toHaveLength(2 * 4)
    const bulk = audit.objects.get(`${app_id}/s2s/bulk/${dayOf(0)}/b.json`)!.toString()
    expect(JSON.parse(bulk).body.events[1]).toEqual({ install_uuid: 'i', props: { ip: 'kept' }, device: { ip: '' } })
  }
  const [fact] = (await findFacts(clickhouse, usual.app_id, ['i0'])).get('i0')!
  expect(fact).toEqual({ ...factOf(usual.app_id, usual.company_id, 0), ip: null })
  const [event] = await clickhouse.query<{ device: string }>(
    `SELECT device FROM events_raw_v1 WHERE app_id = '${usual.app_id}' AND day = '${dayOf(0)}'`,
  )
  expect(JSON.parse(event!.device)).toEqual({ model: 'Pixel', ip: '', said: '"ip":"' })
  expect(await daysIn('clicks_raw_v1', brief.app_id)).toEqual(on(0, 20, 40))

  // A shorter setting acts on what is stored; the other company keeps its data.
  const shorter = { keep_ip_days: 1, keep_click_days: 10, keep_raw_days: 21 }
  await changeCompany(postgres.pool, brief.company_id, shorter, request)
  const sums = await daysIn('events_per_day_v1', brief.app_id)
  expect(sums).toEqual(on(0, 20, 40))
  const done = await runAt(42)
  expect(pauses.at(-1)).toBeGreaterThanOrEqual(30_000)
  expect(done).toEqual({
    rows: { events_raw_v1: 2 + 2, clicks_raw_v1: 2 + 2, click_keys_v1: 6, install_facts_v1: 2 },
    // Two days of each kind are old enough. The third loses its addresses, as the archives of both later days do.
    ...{ objects_deleted: 6, objects_blanked: 3 + 2 },
  })
  expect(await addresses(brief.app_id)).toEqual(eachOf())
  expect(objectsWithAddresses(brief.app_id)).toEqual([])
  expect(objectsWithAddresses(usual.app_id)).toHaveLength(2 * 4)
  expect(await addresses(usual.app_id)).toEqual(eachOf(20, 40))
  expect(await daysIn('clicks_raw_v1', brief.app_id)).toEqual(on(40))
  expect(await daysIn('click_keys_v1', brief.app_id)).toEqual(on(40))
  expect(await daysIn('events_raw_v1', brief.app_id)).toEqual(on(40))
  expect(await daysIn('events_raw_v1', usual.app_id)).toEqual(on(0, 20, 40))
  for (const table of ['events_per_day_v1', 'activity_by_day_v1'])
    expect(await daysIn(table, brief.app_id)).toEqual(sums)
  expect(await daysIn('event_keys_v1', brief.app_id, 'key_day')).toEqual(sums)
  const { rows } = await postgres.pool.query(
    'SELECT clicks_deleted_before::text AS day FROM companies WHERE company_id = $1',
    [brief.company_id],
  )
  expect(rows).toEqual([{ day: dayOf(32) }])

  // Objects go by prefix and date; the proof of an erasure stays.
  const left = [...audit.objects.keys()].filter((key) => key.includes(brief.app_id))
  expect(left.filter((key) => !key.includes('/privacy/')).toSorted()).toEqual(
    [
      `audit/${dayOf(40).replaceAll('-', '/')}/${brief.company_id}/${brief.app_id}/1-g-1.jsonl.gz`,
      `${brief.app_id}/s2s/${dayOf(40)}/e.json`,
      `${brief.app_id}/s2s/bulk/${dayOf(40)}/b.json`,
    ].toSorted(),
  )
  expect(left.filter((key) => key.includes('/privacy/'))).toHaveLength(3)
  expect([...audit.objects.keys()].filter((key) => key.includes(usual.app_id))).toHaveLength(12)

  // A run that is repeated, as after a crash, finds nothing left; a longer setting brings nothing back.
  await changeCompany(postgres.pool, brief.company_id, { keep_raw_days: null, keep_click_days: 90 }, request)
  expect(await runAt(42)).toEqual(nothing)
  const before = await clickhouse.query(
    `SELECT max(expired_before) FROM raw_expired_v1 WHERE app_id = '${brief.app_id}'`,
  )
  expect(Object.values(before[0] as object)).toEqual([dayOf(21)])
})

test('an event whose batch the writer has not finished stays until it has', async () => {
  const app = await newApp()
  await fill(app, [100])
  await changeCompany(postgres.pool, app.company_id, { keep_raw_days: 1 }, request)
  clock.ms = after(100)
  const { name } = topics.eventsAccepted
  await broker.publish([{ topic: name, partition: 0, key: 'k', value: Buffer.from('{}') }])
  await runAt(103)
  expect(await daysIn('events_raw_v1', app.app_id)).toEqual(on(100))
  await broker.moveGroup('event-writer', name, [{ partition: 0, offset: 1 }])
  await runAt(103)
  expect(await daysIn('events_raw_v1', app.app_id)).toEqual([])
})

test('distinct installs that an erasure has touched are kept when their raw events expire', async () => {
  const app = await newApp()
  await fill(app, [150, 150, 151])
  const on = dayOf(150)
  const touched = { app_id: app.app_id, day: on, done: 1, events: 1, batch: randomUUID() }
  const names = await clickhouse.query<{ name: string }>(
    `SELECT DISTINCT event_name AS name FROM events_raw_v1 WHERE app_id = '${app.app_id}'`,
  )
  const row = JSON.stringify({ ...touched, event_name: names[0]!.name })
  await clickhouse.command(`INSERT INTO erased_events_v1 FORMAT JSONEachRow ${row}`)
  await clickhouse.command(`DELETE FROM event_installs_per_day_v1 WHERE app_id = '${app.app_id}' AND day = '${on}'`)
  const uniques = () =>
    clickhouse.query(
      `SELECT toString(date) AS on, sum(installs) AS n
       FROM (${uniquesSql({ app_id: `'${app.app_id}'`, days: `[toDate('${on}'), toDate('${dayOf(151)}')]` })}) GROUP BY on ORDER BY on`,
    )
  const before = await uniques()
  expect(before).toEqual([
    { on, n: 2 },
    { on: dayOf(151), n: 1 },
  ])
  await changeCompany(postgres.pool, app.company_id, { keep_raw_days: 1 }, request)
  const begun = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const erasing = unlessRunning(postgres.pool, 'eraser', () => {
    begun.resolve()
    return end.promise
  })
  await begun.promise
  expect(await runAt(160)).toBeNull()
  expect(await daysIn('events_raw_v1', app.app_id)).toHaveLength(2)
  end.resolve()
  await erasing
  expect(await runAt(160)).toMatchObject({ rows: { events_raw_v1: 3 } })
  expect(await uniques()).toEqual(before)
})

test('archives of clicks go when no company may keep their clicks any more', async () => {
  const archive = (days: number) => `clicks/${dayOf(days).replaceAll('-', '/')}/log/0/1-2.jsonl.gz`
  for (const day of [200, 201]) audit.objects.set(archive(day), Buffer.from(''))
  await runAt(200 + 91)
  expect([200, 201].map((day) => audit.objects.has(archive(day)))).toEqual([false, true])
})

test('the job runs once a night from the hour on, at once after a missed night, and again after a failure', async () => {
  const registry = new Registry()
  let fails = false
  let runs = 0
  const list: typeof audit.list = (folder) => {
    if (folder === 'clicks/' && !fails) runs = 1
    if (fails) throw new Error('the store is away')
    return audit.list(folder)
  }
  const job = retentionJob({ ...deps(), audit: { ...audit, list }, registry })
  const at = async (ms: number) => {
    clock.ms = ms
    runs = 0
    await job(new AbortController().signal)
    return runs
  }
  const day = Date.UTC(2027, 5, 1)
  const hour_ms = day_ms / 24
  expect(await at(day + hour_ms)).toBe(1)
  expect(await at(day + 23 * hour_ms)).toBe(0)
  expect(await at(day + day_ms + 2 * hour_ms)).toBe(0)
  expect(await at(day + day_ms + 3 * hour_ms)).toBe(1)
  fails = true
  await expect(at(day + 2 * day_ms + 3 * hour_ms)).rejects.toThrow('away')
  fails = false
  expect(await at(day + 2 * day_ms + 3 * hour_ms)).toBe(1)
  const ended = (await registry.getSingleMetric('tributary_retention_ended_seconds')!.get()).values[0]!.value
  expect(ended * 1000).toBe(day + 2 * day_ms + 3 * hour_ms)
})
