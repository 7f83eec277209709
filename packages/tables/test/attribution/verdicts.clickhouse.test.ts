import { randomBytes, randomUUID } from 'node:crypto'
import type { Decision } from '@tributary/contracts/attribution/decision'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type InstallRow, installColumns, installLine } from '../../src/attribution/install-rows.ts'
import { findNewest, findNewestOf, installName } from '../../src/attribution/verdicts.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

const newAppId = () => `app_${randomBytes(10).toString('hex')}`
const day = Date.UTC(2026, 2, 1)

function rowOf(
  app_id: string,
  install_uuid: string,
  at: { log?: string; offset: number; decided: Decision['decided_at'] },
) {
  const decision: Decision = {
    ...{ v: 1, company_id: 'co_1', app_id, install_uuid, installed_at_ms: day, received_at_ms: day },
    place: { topic: 'events.accepted.v1@a', partition: 0, offset: 1, index: 0 },
    ...{ pending: true, verdict: null, clicked_at_ms: null, rule_version: 1, candidates: [], clicks: [] },
    windows: { click_hours: 168, probabilistic_hours: 24, reinstall_days: 90 },
    ...{ decided_at_ms: day, decided_at: at.decided },
  }
  const place = { topic: `installs.attributed.v1@${at.log ?? 'a'}`, partition: 3, offset: at.offset }
  return { decision, sign: 1, place } satisfies InstallRow
}
const write = (rows: InstallRow[]) =>
  clickhouse.insert({
    ...{ table: 'installs_v1', columns: installColumns, token: randomUUID() },
    lines: rows.map(installLine).join('\n'),
  })
const decided = (offset: number, tried = 1, log = 'a') => ({ log: `installs.found.v1@${log}`, offset, try: tried })
const below = (log: string, offset: number) => ({ topic: `installs.attributed.v1@${log}`, offset })

test('the newest decision is the one decided last, whatever the names of logs that wrote them', async () => {
  const app_id = newAppId()
  // The clock of whoever named the second log was behind.
  const rows = [
    rowOf(app_id, 'i', { log: 'z', offset: 90, decided: decided(1) }),
    rowOf(app_id, 'i', { log: 'a', offset: 4, decided: decided(10) }),
    rowOf(app_id, 'i', { log: 'a', offset: 5, decided: decided(10, 2) }),
    rowOf(app_id, 'i', { log: 'a', offset: 6, decided: decided(2, 9, 'b') }),
  ]
  for (const row of rows) {
    await write([row])
    await write([row])
  }
  const newest = async (...at: Parameters<typeof below>) =>
    (await findNewest(clickhouse, app_id, ['i', 'nobody'], below(...at))).get('i')
  expect((await findNewest(clickhouse, app_id, ['i'])).get('i')).toEqual({
    decision: rows[3]!.decision,
    place: rows[3]!.place,
  })
  expect((await newest('a', 6))?.place.offset).toBe(5)
  expect((await newest('a', 5))?.place.offset).toBe(4)
  expect((await newest('a', 0))?.place.offset).toBe(90)
  expect((await newest('c', 0))?.place.offset).toBe(6)
})

test('one statement finds installs of several apps, and no install that was not asked for', async () => {
  const [a, b] = [newAppId(), newAppId()] as const
  const at = { offset: 1, decided: decided(1) }
  await write([rowOf(a, 'x', at), rowOf(a, 'y', at), rowOf(b, 'x', at), rowOf(b, 'y', at)])
  let statements = 0
  const counting = {
    query<Row>(sql: string) {
      statements += 1
      return clickhouse.query<Row>(sql)
    },
  }
  const wanted = [
    { app_id: a, install_uuid: 'x' },
    { app_id: b, install_uuid: 'y' },
    { app_id: a, install_uuid: 'x' },
  ]
  expect([...(await findNewestOf(counting, wanted)).keys()].toSorted()).toEqual(
    [installName(wanted[0]!), installName(wanted[1]!)].toSorted(),
  )
  expect(statements).toBe(1)
})

test('an id that would end a literal is an id, and finds nothing', async () => {
  expect(await findNewest(clickhouse, 'app_1', ["x' OR 1 OR '"])).toEqual(new Map())
  expect(await findNewest(clickhouse, 'app_1', ['x'], { topic: "a' OR '", offset: 1 })).toEqual(new Map())
})

test('a look-up reads a few granules of many installs', async () => {
  const app_id = newAppId()
  await clickhouse.command(
    `INSERT INTO installs_v1 (app_id, install_uuid, day, decision, sign, topic, partition, offset)
     SELECT '${app_id}', hex(sipHash64(number)), '2026-03-01', '{"decided_at":{}}', 1, 'installs.attributed.v1@a', 0, number
     FROM numbers(200000)`,
  )
  const plan: string[] = []
  const explaining = {
    async query<Row>(sql: string) {
      const rows = await clickhouse.query<{ explain: string }>(`EXPLAIN indexes = 1 ${sql}`)
      plan.push(...rows.map(({ explain }) => explain))
      return [] as Row[]
    },
  }
  await findNewestOf(explaining, [{ app_id, install_uuid: 'FFFF' }])
  const [, read, all] = /Granules: (\d+)\/(\d+)/.exec(plan.join('\n'))!
  expect(Number(all)).toBeGreaterThan(100)
  expect(Number(read)).toBeLessThan(20)
})
