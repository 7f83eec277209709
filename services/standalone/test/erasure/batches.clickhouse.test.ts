import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { day_ms, limits } from '@tributary/contracts/limits'
import { erasedTables, tables } from '@tributary/contracts/tables'
import type { SentEvent } from '@tributary/testing/oracle/history'
import { now_ms } from '@tributary/testing/oracle/random-history'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ErasureStage, mark_ms, openErasureStage } from './stage.ts'

let stage: ErasureStage
beforeAll(async () => {
  stage = await openErasureStage()
}, 60_000)
afterAll(() => stage.close())

let sent = 0
const event = (install_uuid: string, given: Partial<SentEvent> = {}): SentEvent => {
  sent += 1
  return {
    ...{ app: 0, install_uuid, partition: 0, source: 'sdk', received_at_ms: now_ms, event_id: `e${sent}` },
    ...{
      event_name: 'app_open',
      event_ts_ms: now_ms - day_ms + sent,
      revenue: null,
      currency: null,
      transaction_id: null,
    },
    ...given,
  }
}

const write = (events: SentEvent[], ...app_ids: string[]) => stage.write({ events, decisions: [] }, app_ids)

/** Every row of an app, in all tables but those that count what happened. */
async function rowsOf(app_id: string): Promise<Record<string, unknown[]>> {
  const rows: Record<string, unknown[]> = {}
  for (const table of Object.keys(tables)) {
    if (!('personal' in tables[table as keyof typeof tables]) || table === 'report_stamps_v1') continue
    if ('of_no_app' in tables[table as keyof typeof tables] || table === 'schema_migrations_v1') continue
    rows[table] = await stage.clickhouse.query(
      `SELECT * REPLACE (toString(app_id) AS app_id) FROM ${table} WHERE app_id = '${app_id}' ORDER BY ALL`
        .replace(
          '* REPLACE (toString(app_id) AS app_id)',
          table === 'event_installs_per_day_v1' ? 'day, event_name, uniqExactMerge(installs)' : '*',
        )
        .replace(
          'ORDER BY ALL',
          table === 'event_installs_per_day_v1' ? 'GROUP BY day, event_name ORDER BY ALL' : 'ORDER BY ALL',
        ),
    )
  }
  return rows
}

test('an erased install is in no table, its certificate counts its rows, and PostgreSQL forgets its id', async () => {
  const app_id = await stage.makeApp()
  const uuid = 'gone-3f1c9a'
  const paid = { event_name: 'purchase', revenue: 5, transaction_id: 'shared' }
  await write([event(uuid, { event_name: 'app_install' }), event(uuid, paid), event('kept', paid)], app_id)
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
      ...{ events_raw_v1: 2, event_keys_v1: 2, revenue_raw_v1: 1, transaction_keys_v1: 1 },
      ...{ activity_by_day_v1: 1, event_installs_per_day_v1: 2, money_days_v1: 1 },
    },
  })
  const { rows } = await stage.pool.query(
    'SELECT e::text AS text FROM erasure_requests e UNION ALL SELECT b::text FROM erasure_batches b',
  )
  expect(JSON.stringify(rows)).not.toContain(uuid)
})

test('the bytes of an erased install are gone from the folder of the engine, but for parts that it removes soon', async () => {
  const app_id = await stage.makeApp()
  const [uuid, user] = ['bytes-77aa31', 'user-51ab']
  await write([event(uuid), event('other')], app_id)
  await stage.request(app_id, [uuid])
  await stage.run()
  const parts = await stage.clickhouse.query<{ path: string }>(
    'SELECT path FROM system.parts WHERE active AND database = currentDatabase()',
  )
  const holding: string[] = []
  for (const { path } of parts) {
    for (const file of await readdir(path)) {
      const bytes = await readFile(join(path, file)).catch(() => Buffer.alloc(0))
      if (bytes.includes(uuid) || bytes.includes(user)) holding.push(`${path}${file}`)
    }
  }
  expect(holding).toEqual([])
  const kept = await stage.clickhouse.query<{ command: string }>('SELECT command FROM system.mutations')
  expect(kept.filter(({ command }) => command.includes(uuid))).toEqual([])
})

test('a batch takes 25 requests and 1000 rows of a table, until nothing is left', async () => {
  const app_id = await stage.makeApp()
  const uuids = Array.from({ length: 30 }, (_, n) => `many-${n}`)
  const events = [...uuids.map((uuid) => event(uuid)), ...Array.from({ length: 2100 }, () => event('many-0'))]
  await write([...events, event('kept')], app_id)
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

test('apps take turns, the admin API comes before SDKs, and an app that has to wait holds up no other', async () => {
  const [busy, small, waiting] = [await stage.makeApp(), await stage.makeApp(), await stage.makeApp()]
  const uuids = Array.from({ length: 80 }, (_, n) => `turn-${n}`)
  await write(
    [...uuids.map((uuid) => event(uuid)), { ...event('one'), app: 1 }, { ...event('late'), app: 2 }, event('asked')],
    ...[busy, small, waiting],
  )
  await stage.request(busy, uuids)
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

test('an app whose consumer stands still does not keep the erasures of others from being completed', async () => {
  const [free, stuck] = [await stage.makeApp(), await stage.makeApp()]
  await write([event('one'), { ...event('late'), app: 1 }], free, stuck)
  await stage.request(free, ['one'])
  await stage.request(stuck, ['late'])
  let looks = 0
  await stage.run({
    async findOlderWork(_number, installs) {
      if (!installs.some(({ app_id }) => app_id === stuck)) return []
      looks += 1
      if (looks > 20 || (await stage.certificate(free, 'one'))?.state === 'completed') return []
      return [{ consumer: 'event-writer', partition: 1 }]
    },
  })
  expect(looks).toBeLessThan(20)
  expect((await stage.certificate(stuck, 'late'))?.state).toBe('completed')
})

test('an erasure touches no row of another app with the same installs, transactions and events', async () => {
  const [app_id, other] = [await stage.makeApp(), await stage.makeApp()]
  const paid = { event_name: 'purchase', revenue: 5, transaction_id: 't' }
  const same = ['a', 'b'].flatMap((uuid) => [
    event(uuid, { event_name: 'app_install' }),
    event(uuid, paid),
    event(uuid),
  ])
  await write([...same, ...same.map((one) => ({ ...one, app: 1 }))], app_id, other)
  const before = await rowsOf(other)
  await stage.request(app_id, ['a', 'b'])
  await stage.run()
  expect(await rowsOf(other)).toEqual(before)
})

test('a stored batch that is done again, and by two erasers at once, changes nothing', async () => {
  const app_id = await stage.makeApp()
  const paid = { event_name: 'purchase', revenue: 5, transaction_id: 'twice' }
  await write([event('a', paid), event('b', paid), event('a'), event('b')], app_id)
  await stage.request(app_id, ['a'])
  // The batch stays in PostgreSQL, since whoever carried it out died before its end.
  await stage.runKilledAt([])
  const once = await rowsOf(app_id)
  await stage.request(app_id, ['a'], 'sdk', mark_ms + 1)
  const results = await Promise.allSettled([
    stage.run({ now: () => mark_ms + 5 }),
    stage.run({ now: () => mark_ms + 5 }),
  ])
  expect(results.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0)
  expect(await rowsOf(app_id)).toEqual(once)
  expect((await stage.certificate(app_id, 'a'))?.marks.length).toBe(2)
})

test('two erasers of the same requests end as one does', async () => {
  const app_id = await stage.makeApp()
  const paid = { event_name: 'purchase', revenue: 5, transaction_id: 'race' }
  await write([event('a', paid), event('b', paid), event('a'), event('b'), event('c')], app_id)
  await stage.request(app_id, ['a', 'c'])
  await Promise.allSettled([stage.run(), stage.run()])
  await stage.run()
  const left = await stage.clickhouse.query(
    `SELECT DISTINCT install_uuid FROM events_raw_v1 WHERE app_id = '${app_id}'`,
  )
  expect(left).toEqual([{ install_uuid: 'b' }])
  const { rows } = (await stage.certificate(app_id, 'a'))!
  expect(rows.events_raw_v1).toBe(2)
  const [erased] = await stage.clickhouse.query<{ events: number }>(
    `SELECT sum(events) AS events FROM erased_events_v1 FINAL WHERE app_id = '${app_id}'`,
  )
  expect(erased).toEqual({ events: 3 })
})

test('a request that comes again before anything new is done at once, and one of an unknown app is given back', async () => {
  const app_id = await stage.makeApp()
  await write([event('again')], app_id)
  await stage.request(app_id, ['again'])
  await stage.run()
  await stage.request(app_id, ['again'])
  expect((await stage.certificate(app_id, 'again'))?.state).toBe('completed')
  expect(await stage.request('none', ['again'])).toHaveLength(1)
})
