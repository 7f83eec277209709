import { mutate } from '@tributary/clickhouse/mutate'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { deleteUnproven } from '../src/delete-unproven.ts'
import { runRetention } from '../src/run-retention.ts'
import { after, dayOf, first_ms } from './stored-days.ts'

const kept = limits.postback_unproven_days_max
const tables = ['postbacks_raw_v1', 'postbacks_decoded_v1', 'postback_claims_v1', 'postback_publishers_v1'] as const
const { signal } = new AbortController()
const clock = { ms: first_ms }

let postgres: TestPostgres
let clickhouse: TestClickhouse
let audit: ReturnType<typeof memoryAuditStore>
let broker: ReturnType<typeof memoryBroker>
beforeAll(async () => {
  ;[postgres, clickhouse] = await Promise.all([openTestPostgres(), openTestClickhouse()])
})
afterAll(() => Promise.all([postgres.close(), clickhouse.close()]))
beforeEach(async () => {
  for (const table of tables) await clickhouse.command(`TRUNCATE TABLE ${table}`)
  audit = memoryAuditStore()
  broker = memoryBroker(1, () => clock.ms)
})

const runAt = (days: number) => {
  clock.ms = after(days)
  const deps = {
    pool: postgres.pool,
    clickhouse,
    broker,
    audit,
    now: () => clock.ms,
    wait_ms: 20,
    pause: async () => {},
  }
  return runRetention({ ...deps, logger: pino({ level: 'silent' }) }, signal)
}

let offset = 0
/** Stores a postback as postback-writer does, with its judgements in their order. */
async function store(days: number, ...verdicts: ('valid' | 'invalid' | 'unverifiable')[]) {
  offset += 1
  const place = { day: dayOf(days), received_at_ms: after(days), topic: 'postbacks/1', partition: 0, offset }
  const insert = (table: string, row: object) =>
    clickhouse.command(`INSERT INTO ${table} FORMAT JSONEachRow ${JSON.stringify({ ...place, ...row })}`)
  await insert('postbacks_raw_v1', { protocol: 'skan', body: `{"n":${offset}}`, audit_key: 'k' })
  for (const [n, verdict] of verdicts.entries()) {
    const said = { protocol: 'skan', advertised_item_id: 1, publisher_item_id: 2 + offset, postback_id: `${offset}` }
    const environment = verdict === 'valid' ? 'production' : ''
    await insert('postbacks_decoded_v1', { ...said, verdict, environment, judged_at_ms: place.received_at_ms + n })
  }
  return offset
}

const placesIn = async (table: string) =>
  (await clickhouse.query<{ offset: number }>(`SELECT DISTINCT offset FROM ${table} FINAL ORDER BY offset`)).map(
    (one) => Number(one.offset),
  )
const publishers = async () =>
  (
    await clickhouse.query<{ item: number }>(
      'SELECT DISTINCT toUInt32(publisher_item_id) AS item FROM postback_publishers_v1 ORDER BY item',
    )
  ).map(({ item }) => item - 2)

test('rows of postbacks that no signature proves go after 35 days, and those of valid ones stay for ever', async () => {
  const proven = await store(0, 'valid')
  const later = await store(0, 'unverifiable', 'valid') // judged again
  for (const verdict of ['invalid', 'unverifiable'] as const) await store(0, verdict)
  const young = await store(1, 'invalid')
  expect((await runAt(kept))?.rows).toEqual({})
  // The young one of these days may still be judged again: the look goes back for fewer days.
  expect(limits.postback_unverifiable_ms_max).toBeLessThan((kept - 1) * 24 * 3600_000)

  expect((await runAt(kept + 1))?.rows).toMatchObject({ postbacks_raw_v1: 2 })
  const stay = [proven, later, young]
  expect(await placesIn('postbacks_raw_v1')).toEqual(stay)
  expect(await placesIn('postbacks_decoded_v1')).toEqual(stay)
  expect(await placesIn('postback_claims_v1')).toEqual([proven, later])
  expect(await publishers()).toEqual(stay)
  expect((await runAt(kept + 1))?.rows).toEqual({})
  await runAt(kept + 1000)
  expect(await placesIn('postbacks_raw_v1')).toEqual([proven, later])
  expect(await publishers()).toEqual([proven, later])
})

test('a run that was broken off, and one of many days, leave nothing that the next does not find', async () => {
  const proven: number[] = []
  for (const days of [0, 1, 2, 3, 4]) {
    proven.push(await store(days, 'valid'))
    await store(days, 'invalid')
  }
  const crash = new Error('killed')
  const changed: string[] = []
  const at = (fails_after: number) => ({
    ...{ clickhouse, signal, act: mutate },
    onRows(table: string) {
      changed.push(table)
      if (changed.length === fails_after) throw crash
    },
  })
  const broken = async (fails_after: number) => {
    changed.length = 0
    return deleteUnproven(at(fails_after), dayOf(4), 2).then(
      () => null,
      (error: unknown) => error,
    )
  }
  expect([await broken(1), await broken(2)]).toEqual([crash, crash])
  // A later break may come when nothing is left.
  for (const fails_after of [4, 6]) expect([crash, null]).toContain(await broken(fails_after))
  await deleteUnproven(at(0), dayOf(4), 2)
  expect(await placesIn('postbacks_raw_v1')).toEqual([...proven, proven.at(-1)! + 1])
  expect(await placesIn('postbacks_decoded_v1')).toEqual([...proven, proven.at(-1)! + 1])
})

test('a postback that the writer has not written to all tables yet stays until it has', async () => {
  const half = await store(0) // it is in one table alone
  await store(0, 'invalid')
  clock.ms = after(0)
  const { name } = topics.postbacksReceived
  await broker.publish([{ topic: name, partition: 0, key: 'k', value: Buffer.from('{}') }])
  expect((await runAt(kept + 9))?.rows).toEqual({})
  expect(await placesIn('postbacks_raw_v1')).toContain(half)
})

test('audit objects of postbacks go after 35 days, by protocol and day, and no other object', async () => {
  const key = (protocol: string, days: number, n: number) =>
    `postbacks/${protocol}/${dayOf(days).replaceAll('-', '/')}/${after(days)}-g-${n}.jsonl.gz`
  for (const protocol of ['skan', 'aak'])
    for (const days of [0, 1])
      for (let n = 0; n < 40; n += 1) audit.objects.set(key(protocol, days, n), Buffer.from('x'))
  const others = ['privacy/postbacks/skan/2020/01/01/a', `postbacks/other/${dayOf(0).replaceAll('-', '/')}/a`]
  for (const other of others) audit.objects.set(other, Buffer.from('x'))
  expect((await runAt(kept))?.objects_deleted).toBe(0)
  expect((await runAt(kept + 1))?.objects_deleted).toBe(80)
  const left = [...audit.objects.keys()]
  expect(left).toHaveLength(80 + others.length)
  expect(left.some((one) => one.includes(dayOf(0).replaceAll('-', '/')) && !others.includes(one))).toBe(false)
})

test('audit objects of notifications of stores go after 35 days, of every app, and no other object', async () => {
  const folder = (days: number) => `notifications/${dayOf(days).replaceAll('-', '/')}`
  const keys = [0, 1].flatMap((days) =>
    ['co_1/app_1', 'co_2/app_2'].map((app) => `${folder(days)}/${app}/1-g-1.jsonl.gz`),
  )
  const other = 'app_1/privacy/notifications/a'
  for (const key of [...keys, other]) audit.objects.set(key, Buffer.from('x'))
  const days = limits.store_notification_days_max
  expect((await runAt(days))?.objects_deleted).toBe(0)
  expect((await runAt(days + 1))?.objects_deleted).toBe(2)
  expect([...audit.objects.keys()].toSorted()).toEqual([other, ...keys.slice(2)].toSorted())
})
