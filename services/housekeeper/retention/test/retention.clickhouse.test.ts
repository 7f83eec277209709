import { randomUUID } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { day_ms } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { raw_events_lock } from '@tributary/erasure/raw-events-lock'
import { askJob, findJob } from '@tributary/postgres/jobs'
import { unlessRunning } from '@tributary/postgres/one-at-a-time'
import { findDecidingFacts } from '@tributary/tables/attribution/facts'
import { uniquesSql } from '@tributary/tables/settled/sql/uniques'
import { changeCompany, createApp, createCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { planRetention } from '../src/plan-retention.ts'
import { retentionJob, retentionWhenAsked } from '../src/retention-job.ts'
import { runRetention } from '../src/run-retention.ts'
import { after, dayOf, factOf, first_ms, storeDays } from './stored-days.ts'

let postgres: TestPostgres
let clickhouse: TestClickhouse
beforeAll(async () => {
  ;[postgres, clickhouse] = await Promise.all([openTestPostgres(), openTestClickhouse()])
})
afterAll(() => Promise.all([postgres.close(), clickhouse.close()]))

const request = { actor: 'test', request_id: 'r', now_ms: first_ms }
const masterKeys = openMasterKeys([{ id: 'test', key: Buffer.alloc(32, 1) }])
const audit = memoryAuditStore()
const broker = memoryBroker(1, () => clock.ms)
const clock = { ms: first_ms }
const pauses: number[] = []
const deps = () => ({
  ...{ pool: postgres.pool, clickhouse, broker, audit, now: () => clock.ms },
  wait_ms: 20,
  pause: async (ms: number) => void pauses.push(ms),
  logger: pino({ level: 'silent' }),
})
const runAt = (days: number) => {
  clock.ms = after(days)
  return runRetention(deps(), new AbortController().signal)
}

async function newApp() {
  const { company_id } = await createCompany(postgres.pool, { name: 'A', plan: 'free' }, request)
  const input = { company_id, name: 'Game', platform: 'android' as const }
  const { app_id } = await createApp(postgres.pool, masterKeys, input, request)
  return { company_id, app_id }
}

const fill = (app: { company_id: string; app_id: string }, days: readonly number[]) =>
  storeDays({ clickhouse, audit }, app, days)

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
  const [fact] = (await findDecidingFacts(clickhouse, usual.app_id, ['i0'])).get('i0')!
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
  clock.ms = after(42)
  const planned = { events_raw_v1: 2 + 2, clicks_raw_v1: 2 + 2, click_keys_v1: 6, install_facts_v1: 2 }
  expect((await planRetention(deps(), new AbortController().signal)).rows).toEqual(planned)
  expect(await addresses(brief.app_id)).toEqual(eachOf(20, 40))
  const done = await runAt(42)
  expect(pauses.at(-1)).toBeGreaterThanOrEqual(30_000)
  expect(done).toEqual({
    rows: planned,
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
  await changeCompany(postgres.pool, app.company_id, { keep_ip_days: 1, keep_raw_days: 1 }, request)
  const begun = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const erasing = unlessRunning(postgres.pool, raw_events_lock, () => {
    begun.resolve()
    return end.promise
  })
  await begun.promise
  // An erasure that waits for another service, perhaps for days, holds up no address.
  const waiting = await runAt(160)
  const left = await daysIn('events_raw_v1', app.app_id)
  end.resolve()
  await erasing
  expect(waiting).toMatchObject({ raw_waits: true })
  expect(await addresses(app.app_id)).toEqual(eachOf())
  expect(left).toHaveLength(2)
  expect(await runAt(160)).toMatchObject({ rows: { events_raw_v1: 3 } })
  expect(await uniques()).toEqual(before)
})

test('the job does all but raw events once while the eraser runs, and ends the run after it', async () => {
  const app = await newApp()
  await fill(app, [170])
  await changeCompany(postgres.pool, app.company_id, { keep_raw_days: 1 }, request)
  const registry = new Registry()
  const job = retentionJob({ ...deps(), registry })
  const ended = async () =>
    (await registry.getSingleMetric('tributary_retention_ended_seconds')!.get()).values[0]!.value * 1000
  clock.ms = after(175)
  const before = pauses.length
  await unlessRunning(postgres.pool, raw_events_lock, async () => {
    for (const _minute of [1, 2]) await job(new AbortController().signal)
  })
  expect(pauses).toHaveLength(before + 1)
  expect(await daysIn('events_raw_v1', app.app_id)).toEqual(on(170))
  expect(await ended()).not.toBe(clock.ms)
  await job(new AbortController().signal)
  expect(await daysIn('events_raw_v1', app.app_id)).toEqual([])
  expect(await ended()).toBe(clock.ms)
})

test('an eraser that begins behind the marks holds up raw events alone, and nothing else is done twice meanwhile', async () => {
  const app = await newApp()
  await fill(app, [180])
  await changeCompany(postgres.pool, app.company_id, { keep_raw_days: 1 }, request)
  const erased = Promise.withResolvers<void>()
  onTestFinished(() => erased.resolve())
  let erasing: Promise<unknown> | null = null
  let paused = 0
  const pause = async () => {
    paused += 1
    const begun = Promise.withResolvers<void>()
    erasing ??= unlessRunning(postgres.pool, raw_events_lock, () => {
      begun.resolve()
      return erased.promise
    })
    if (paused === 1) await begun.promise
  }
  const job = retentionJob({ ...deps(), pause, registry: new Registry() })
  clock.ms = after(185)
  for (const _minute of [1, 2, 3]) await job(new AbortController().signal)
  expect(paused).toBe(1)
  expect(await daysIn('events_raw_v1', app.app_id)).toEqual(on(180))
  erased.resolve()
  await erasing
  await job(new AbortController().signal)
  expect(await daysIn('events_raw_v1', app.app_id)).toEqual([])
})

test('whoever asks hears what a run would remove, and has it removed, whatever the hour', async () => {
  const app = await newApp()
  await fill(app, [190])
  await changeCompany(postgres.pool, app.company_id, { keep_raw_days: 1 }, request)
  clock.ms = after(195)
  const work = retentionWhenAsked({ ...deps(), registry: new Registry() })
  const outcomeOf = async (kind: 'retention' | 'retention_plan') => {
    const number = await askJob(postgres.pool, kind, clock.ms)
    await work(new AbortController().signal)
    return (await findJob(postgres.pool, number))!.outcome as { rows: Record<string, number> }
  }
  const { rows: planned } = await outcomeOf('retention_plan')
  expect(planned.events_raw_v1).toBeGreaterThan(0)
  expect(await daysIn('events_raw_v1', app.app_id)).toEqual(on(190))
  expect((await outcomeOf('retention')).rows).toEqual(planned)
  expect(await daysIn('events_raw_v1', app.app_id)).toEqual([])
  expect((await outcomeOf('retention_plan')).rows).toEqual({})
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
