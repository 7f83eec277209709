import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { day_ms, limits } from '@tributary/contracts/limits'
import { erasedTables, tables } from '@tributary/contracts/tables'
import { utcDay } from '@tributary/domain/utc-day'
import { markRawExpired } from '@tributary/tables/events/raw-expired'
import { testEventRow } from '@tributary/testing/engines/test-clickhouse'
import type { SentEvent } from '@tributary/testing/oracle/history'
import { now_ms } from '@tributary/testing/oracle/random-history'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ErasureStage, mark_ms, openErasureStage, sentEvent } from './stage.ts'

let stage: ErasureStage
beforeAll(async () => {
  stage = await openErasureStage()
})
afterAll(() => stage.close())

const write = (events: SentEvent[], ...app_ids: string[]) => stage.write({ events, decisions: [] }, app_ids)

/** Files of active parts that hold a text. */
async function filesWith(text: string): Promise<string[]> {
  const parts = await stage.clickhouse.query<{ path: string }>(
    'SELECT path FROM system.parts WHERE active AND database = currentDatabase()',
  )
  const holding: string[] = []
  for (const { path } of parts) {
    for (const file of await readdir(path)) {
      const bytes = await readFile(join(path, file)).catch(() => Buffer.alloc(0))
      if (bytes.includes(text)) holding.push(`${path}${file}`)
    }
  }
  return holding
}

test('an erased install is in no table, its certificate counts its rows, and PostgreSQL forgets its id', async () => {
  const app_id = await stage.makeApp()
  const uuid = 'gone-3f1c9a'
  const paid = { event_name: 'purchase', revenue: 5, transaction_id: 'shared' }
  await write([sentEvent(uuid, { event_name: 'app_install' }), sentEvent(uuid, paid), sentEvent('kept', paid)], app_id)
  expect(await stage.certificate(app_id, uuid)).toBeNull()
  await stage.request(app_id, [uuid])
  expect(await stage.certificate(app_id, uuid)).toMatchObject({ state: 'queued', marks: [], drained_at_ms: null })
  await stage.run()
  for (const table of erasedTables) {
    const personal: readonly string[] = tables[table].personal
    const named = personal.includes('install_uuid') ? `install_uuid = '${uuid}'` : null
    const keyed = personal.includes('install_key') ? `install_key = sipHash64('${uuid}')` : null
    for (const where of [named, keyed]) {
      if (where !== null)
        expect(await stage.clickhouse.query(`SELECT * FROM ${table} WHERE ${where}`), table).toEqual([])
    }
  }
  expect(await stage.certificate(app_id, uuid)).toEqual({
    ...{ state: 'completed', drained_at_ms: mark_ms, objects_rewritten: 0, version: 1 },
    marks: [{ requested_at_ms: now_ms, erased_up_to_ms: mark_ms }],
    rows: {
      ...{ events_raw_v1: 2, event_keys_v1: 2, revenue_raw_v1: 1, transaction_keys_v1: 1, transaction_claims_v1: 1 },
      ...{ activity_by_day_v1: 1, event_installs_per_day_v1: 2, money_days_v1: 1 },
    },
  })
  // Copies of raw rows can follow for a while.
  const noted = await stage.pool.query('SELECT * FROM raw_erasures WHERE app_id = $1', [app_id])
  expect(noted.rows).toEqual([
    { app_id, install_uuid: uuid, click_id: '', erased_up_to_ms: String(mark_ms), stored_at_ms: expect.any(String) },
  ])
  const { rows } = await stage.pool.query(
    'SELECT e::text AS text FROM erasure_requests e UNION ALL SELECT b::text FROM erasure_batches b',
  )
  expect(JSON.stringify(rows)).not.toContain(uuid)
})

test('money and activity of days whose raw events have expired are erased, and sums of these days stay', async () => {
  const app_id = await stage.makeApp()
  const uuid = 'expired-4c1d'
  const paid = { event_name: 'purchase', revenue: 5, event_ts_ms: now_ms - 40 * day_ms }
  const old = (install_uuid: string, transaction_id: string) => sentEvent(install_uuid, { ...paid, transaction_id })
  const recent = sentEvent(uuid, { event_name: 'purchase', revenue: 1 })
  await write([old(uuid, 't1'), old('kept', 't2'), recent], app_id)
  const before = new Date(now_ms - 30 * day_ms).toISOString().slice(0, 10)
  await markRawExpired(stage.clickhouse, new Map([[app_id, before]]))
  await stage.clickhouse.command(`DELETE FROM events_raw_v1 WHERE app_id = '${app_id}' AND day < '${before}'`)
  await stage.request(app_id, [uuid])
  await stage.run()
  const installs = async (table: string) =>
    stage.clickhouse.query(`SELECT install_uuid FROM ${table} WHERE app_id = '${app_id}'`)
  expect(await installs('revenue_raw_v1')).toEqual([{ install_uuid: 'kept' }])
  for (const table of ['activity_by_day_v1', 'money_days_v1']) {
    const keys = await stage.clickhouse.query(
      `SELECT DISTINCT install_key = sipHash64('${uuid}') AS own FROM ${table} WHERE app_id = '${app_id}'`,
    )
    expect(keys, table).toEqual([{ own: 0 }])
  }
  const claims = await stage.clickhouse.query(`SELECT count() AS n FROM transaction_keys_v1 WHERE app_id = '${app_id}'`)
  expect(claims).toEqual([{ n: 1 }])
  const sums = await stage.clickhouse.query(
    `SELECT sum(events) AS events FROM events_per_day_v1 WHERE app_id = '${app_id}' AND day < '${before}'`,
  )
  expect(sums).toEqual([{ events: 2 }])
  expect((await stage.certificate(app_id, uuid))?.rows).toMatchObject({ events_raw_v1: 1, revenue_raw_v1: 2 })
})

test('a new life that begins while the run still deletes is kept whole, also on the days of the old one', async () => {
  const app_id = await stage.makeApp()
  const at = (ms: number) => ({
    event_name: 'purchase',
    revenue: 5,
    event_ts_ms: mark_ms + ms,
    received_at_ms: mark_ms + ms,
  })
  await write([sentEvent('again', at(-500)), sentEvent('again', at(-400))], app_id)
  await stage.request(app_id, ['again'])
  let looks = 0
  const life = () => write([sentEvent('again', at(10 + looks))], app_id)
  await stage.run({
    async findOlderWork() {
      // The run ends before the batch is begun, and before it is planned.
      looks += 1
      await life()
      return []
    },
  })
  expect(looks).toBe(2)
  const all = { since_ms: now_ms - 10 * day_ms, until_ms: now_ms + 10 * day_ms }
  expect((await stage.ask('events', app_id, all)).rows).toMatchObject([{ events: 2, unique_installs: 1 }])
  expect((await stage.ask('revenue', app_id, all)).rows).toMatchObject([{ purchases: 2, revenue_usd: 10 }])
  for (const [table, rows] of Object.entries({ events_raw_v1: 2, event_keys_v1: 2, revenue_raw_v1: 2 })) {
    const found = await stage.clickhouse.query(`SELECT count() AS n FROM ${table} WHERE app_id = '${app_id}'`)
    expect(found, table).toEqual([{ n: rows }])
  }
  const [active] = await stage.clickhouse.query(
    `SELECT min(min_ts_ms) AS first, max(max_ts_ms) AS last FROM activity_by_day_v1 WHERE app_id = '${app_id}'`,
  )
  expect(active).toEqual({ first: mark_ms + 11, last: mark_ms + 12 })
  const days = await stage.clickhouse.query(`SELECT count() AS n FROM money_days_v1 FINAL WHERE app_id = '${app_id}'`)
  expect(days).toEqual([{ n: 1 }])
})

test('the bytes of an erased install are gone from the folder of the engine, but for parts that it removes soon', async () => {
  const app_id = await stage.makeApp()
  const uuid = 'bytes-77aa31'
  await write([sentEvent(uuid), sentEvent('other')], app_id)
  expect(await filesWith(uuid)).not.toEqual([])
  await stage.request(app_id, [uuid])
  await stage.run()
  expect(await filesWith(uuid)).toEqual([])
  const kept = await stage.clickhouse.query<{ command: string }>('SELECT command FROM system.mutations')
  expect(kept.filter(({ command }) => command.includes(uuid))).toEqual([])
})

test('a batch takes 25 requests and 1000 rows of a table, until nothing is left', async () => {
  const app_id = await stage.makeApp()
  const uuids = Array.from({ length: 30 }, (_, n) => `many-${n}`)
  const events = [...uuids.map((uuid) => sentEvent(uuid)), ...Array.from({ length: 2100 }, () => sentEvent('many-0'))]
  await write([...events, sentEvent('kept')], app_id)
  await stage.request(app_id, uuids)
  const { drained, rows, batches } = await stage.run()
  expect([drained, rows.events_raw_v1]).toEqual([30, 2130])
  for (const { requests, rows: taken } of batches) {
    expect(requests).toBeLessThanOrEqual(limits.erasure_requests_max)
    expect(taken).toBeLessThanOrEqual(limits.erasure_rows_max)
  }
  expect(batches.length).toBeGreaterThanOrEqual(4)
  const left = await stage.clickhouse.query(`SELECT install_uuid FROM events_raw_v1 WHERE app_id = '${app_id}'`)
  expect(left).toEqual([{ install_uuid: 'kept' }])
})

test('a batch takes 1000 user ids of an install, and the certificate counts each', async () => {
  const app_id = await stage.makeApp()
  await stage.clickhouse.command(
    `INSERT INTO identities_v1 (app_id, install_uuid, user_id, since_ms)
     SELECT '${app_id}', 'many-users', toString(number), 1 FROM numbers(2500)`,
  )
  await stage.request(app_id, ['many-users'])
  const { batches } = await stage.run()
  expect(batches.map(({ rows }) => rows)).toEqual([1000, 1000, 500])
  expect((await stage.certificate(app_id, 'many-users'))?.rows).toEqual({ identities_v1: 2500 })
})

test('user ids of a new life stay, however many there are', async () => {
  const app_id = await stage.makeApp()
  const life = (n: number, at_ms: number) =>
    testEventRow({
      ...{ app_id, install_uuid: 'twice', user_id: `user-${n}`, event_id: `life-${n}-${at_ms}`, day: utcDay(at_ms) },
      ...{ ts_ms: at_ms, received_at_ms: at_ms },
    })
  await stage.clickhouse.insertEvents([life(0, now_ms), life(-1, now_ms)], randomUUID())
  await stage.request(app_id, ['twice'])
  // The new life comes once the tombstone is there: a mark covers all that came before.
  let later = Array.from({ length: 1100 }, (_, n) => life(n, mark_ms + 1000))
  await stage.run({
    async findOlderWork() {
      if (later.length > 0) await stage.clickhouse.insertEvents(later, randomUUID())
      later = []
      return []
    },
  })
  const left = await stage.clickhouse.query(
    `SELECT count() AS users, min(since_ms) AS since_ms FROM identities_v1 FINAL WHERE app_id = '${app_id}'`,
  )
  expect(left).toEqual([{ users: 1100, since_ms: mark_ms + 1000 }])
  expect((await stage.certificate(app_id, 'twice'))?.rows.identities_v1).toBe(2)
})

test('apps take turns, the admin API comes before SDKs, and an app that has to wait holds up no other', async () => {
  const [busy, small, waiting] = [await stage.makeApp(), await stage.makeApp(), await stage.makeApp()]
  const uuids = Array.from({ length: 80 }, (_, n) => `turn-${n}`)
  await write(
    [
      ...uuids.map((uuid) => sentEvent(uuid)),
      { ...sentEvent('one'), app: 1 },
      { ...sentEvent('late'), app: 2 },
      sentEvent('asked'),
    ],
    ...[busy, small, waiting],
  )
  await stage.request(busy, uuids)
  await stage.request(busy, ['turn-79'], 'sdk', now_ms + 1)
  await stage.request(busy, ['asked'], 'admin', now_ms + 10)
  await stage.request(small, ['one'])
  await stage.request(waiting, ['late'])
  const order: string[] = []
  const seen = async () => {
    for (const [app_id, uuid] of [
      [busy, 'asked'],
      [busy, 'turn-79'],
      [small, 'one'],
      [waiting, 'late'],
    ] as const) {
      const done = (await stage.certificate(app_id, uuid))?.drained_at_ms !== null
      if (done && !order.includes(uuid)) order.push(uuid)
    }
  }
  let looks = 0
  await stage.run({
    now: () => mark_ms,
    async findOlderWork(_number, installs) {
      await seen()
      if (!installs.some(({ app_id }) => app_id === waiting)) return []
      looks += 1
      const others = await stage.pool.query(
        'SELECT 1 FROM erasure_requests WHERE app_id = $1 AND mark_ms IS NOT NULL AND emptied_at_ms IS NULL',
        [busy],
      )
      expect((await stage.certificate(waiting, 'late'))?.state).toBe('draining')
      return others.rows.length > 0 ? [{ consumer: 'event-writer', partition: 1 }] : []
    },
  })
  await seen()
  expect(looks).toBeGreaterThan(1)
  expect(order.indexOf('asked')).toBeLessThan(order.indexOf('turn-79'))
  expect(order.indexOf('one')).toBeLessThan(order.indexOf('turn-79'))
  expect(order.at(-1)).toBe('late')
})

test("an app that has to wait holds up neither the end of another one's erasure nor a request that comes meanwhile", async () => {
  const [waiting, ready, later] = [await stage.makeApp(), await stage.makeApp(), await stage.makeApp()]
  await write([sentEvent('a'), { ...sentEvent('b'), app: 1 }, { ...sentEvent('c'), app: 2 }], waiting, ready, later)
  await stage.request(waiting, ['a'])
  await stage.request(ready, ['b'])
  let clock = mark_ms
  let looks = 0
  const isDone = async (app_id: string, uuid: string) => (await stage.certificate(app_id, uuid))?.state === 'completed'
  await stage.run({
    now() {
      clock += 60_000
      return clock
    },
    async findOlderWork(_number, installs) {
      if (!installs.some(({ app_id }) => app_id === waiting)) return []
      looks += 1
      if (looks === 10) await stage.request(later, ['c'])
      const done = (await isDone(ready, 'b')) && (await isDone(later, 'c'))
      return done || looks >= 200 ? [] : [{ consumer: 'event-writer', partition: 1 }]
    },
  })
  expect(await isDone(waiting, 'a')).toBe(true)
  expect(looks).toBeLessThan(200)
})
