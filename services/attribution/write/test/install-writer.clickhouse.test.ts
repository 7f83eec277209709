import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Decision } from '@tributary/contracts/attribution/decision'
import { deadLetterTopic } from '@tributary/contracts/topics'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { day, decisionOf, keptClick, verdictOf } from './decisions.ts'
import {
  countingOf,
  derivedTables,
  group,
  newAppId,
  partitions,
  recordOf,
  runToEnd,
  start,
  topic,
  until,
  wrongSums,
} from './stage.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

const newLog = () => memoryBroker(partitions, () => day)

/** Writes decisions to one partition, each list in a life of its own. */
async function write(batches: Decision[][], using: Partial<Clickhouse> = {}) {
  const broker = newLog()
  let registry: Awaited<ReturnType<typeof runToEnd>> | undefined
  for (const batch of batches) {
    await broker.publish(batch.map((decision) => recordOf(decision, 0)))
    registry = await runToEnd(broker, { ...clickhouse, ...using })
  }
  return { broker, registry: registry! }
}

const rowsOf = (app_id: string) =>
  clickhouse.query<{ sign: number; partner: string; offset: number }>(
    `SELECT offset, sign, partner FROM installs_v1 FINAL WHERE app_id = '${app_id}' ORDER BY offset, sign`,
  )

const p = { verdict: verdictOf('p') }
const q = { verdict: verdictOf('q') }

test('a decision that replaces another cancels its row and adds one, in one batch or in several', async () => {
  for (const cut of ['one', 'several']) {
    const app_id = newAppId()
    const decisions = [
      decisionOf(app_id, 'i', { offset: 1, ...p }),
      decisionOf(app_id, 'i', { offset: 2, ...q }),
      decisionOf(app_id, 'i', { offset: 3 }),
    ]
    await write(cut === 'one' ? [decisions] : decisions.map((one) => [one]))
    expect(await rowsOf(app_id), cut).toEqual([
      { offset: 0, sign: 1, partner: 'p' },
      { offset: 1, sign: -1, partner: 'p' },
      { offset: 1, sign: 1, partner: 'q' },
      { offset: 2, sign: -1, partner: 'q' },
      { offset: 2, sign: 1, partner: 'organic' },
    ])
    // Readers of raw rows order by it what is stored at the same time.
    const raw = await clickhouse.query(
      `SELECT stored_index FROM installs_v1 FINAL WHERE app_id = '${app_id}' AND sign = 1 ORDER BY offset`,
    )
    expect(raw.map((row) => Object.values(row as object)[0])).toEqual(cut === 'one' ? [0, 1, 2] : [0, 0, 0])
  }
})

test('a row has the country of its install and the values of its click; one that ends a verdict has those of the verdict', async () => {
  const app_id = newAppId()
  const click_id = '01970000-0000-7000-8000-0000000000a1'
  const kept = keptClick(app_id, { click_id, ad_group: 'g', creative: 'c' })
  const won = { verdict: verdictOf('p', { click_id, sub1: 'one', sub5: 'five' }), clicks: [kept], country: 'DE' }
  await write([[decisionOf(app_id, 'i', { offset: 1, ...won }), decisionOf(app_id, 'i', { offset: 2, country: 'FR' })]])
  const columns = 'sign, country, ad_group, creative, sub1, sub2, sub3, sub4, sub5'
  const rows = await clickhouse.query<Record<string, unknown>>(
    `SELECT ${columns} FROM installs_v1 FINAL WHERE app_id = '${app_id}' ORDER BY offset, sign`,
  )
  expect(rows.map((row) => Object.values(row).join())).toEqual([
    '1,DE,g,c,one,,,,five',
    '-1,DE,g,c,one,,,,five',
    '1,FR,,,,,,,',
  ])
  // A row from before these columns has what its decision says.
  const text = JSON.stringify(won).replaceAll("'", "''")
  await clickhouse.command(
    `INSERT INTO installs_v1 (app_id, install_uuid, click_id, decision, sign)
     VALUES ('${app_id}', 'before', '${click_id}', '${text}', 1)`,
  )
  const [before] = await clickhouse.query<Record<string, unknown>>(
    `SELECT ${columns} FROM installs_v1 WHERE app_id = '${app_id}' AND install_uuid = 'before'`,
  )
  expect(Object.values(before!).join()).toBe('1,,g,c,one,,,,five')
})

test('a decision that is behind is ignored: an earlier record, an earlier try, the same try, an older log', async () => {
  const app_id = newAppId()
  const newest = { offset: 5, tried: 2, log: 'installs.found.v1@b' }
  await write([
    [decisionOf(app_id, 'i', { ...newest, ...p })],
    [
      decisionOf(app_id, 'i', { ...newest, offset: 4, tried: 9, ...q }),
      decisionOf(app_id, 'i', { ...newest, tried: 1, ...q }),
      decisionOf(app_id, 'i', { ...newest, ...q }),
      decisionOf(app_id, 'i', { ...newest, log: 'installs.found.v1@a', offset: 900, ...q }),
    ],
  ])
  expect(await rowsOf(app_id)).toEqual([{ offset: 0, sign: 1, partner: 'p' }])
})

test('a decision that changes nothing writes nothing at the first try of the attributor, and rows from the second on', async () => {
  const app_id = newAppId()
  const first = decisionOf(app_id, 'i', { offset: 1, ...p })
  await write([
    [first],
    [decisionOf(app_id, 'i', { offset: 2, ...p })],
    [decisionOf(app_id, 'i', { offset: 3, tried: 2, ...p })],
    // A sleeper of the first try of the same batch: another answer, published late.
    [decisionOf(app_id, 'i', { offset: 3, ...q })],
  ])
  expect(await rowsOf(app_id)).toEqual([
    { offset: 0, sign: 1, partner: 'p' },
    { offset: 2, sign: -1, partner: 'p' },
    { offset: 2, sign: 1, partner: 'p' },
  ])
})

test('anything that a decision says makes it another one', async () => {
  const changes: Partial<Decision>[] = [
    { ...q },
    { verdict: null, pending: true },
    { ...p, verdict: verdictOf('p', { fraud_flags: ['fast_install'] }) },
    { ...p, installed_at_ms: day + 1 },
    { ...p, rule_version: 2 },
    { ...p, windows: { click_hours: 1, probabilistic_hours: null, reinstall_days: 90 } },
    { ...p, place: { topic: 'events.accepted.v1@a', partition: 0, offset: 8, index: 0 } },
    {
      ...p,
      candidates: [
        { click_id: 'c', partner: 'p', method: 'device_id', clicked_at_ms: 1, outcome: 'lost', reason: 'filtered' },
      ],
    },
  ]
  for (const change of changes) {
    const app_id = newAppId()
    await write([[decisionOf(app_id, 'i', { offset: 1, ...p }), decisionOf(app_id, 'i', { offset: 2, ...change })]])
    expect(await rowsOf(app_id), JSON.stringify(change)).toHaveLength(3)
  }
})

test('installs of one name in two apps have verdicts of their own', async () => {
  const [a, b] = [newAppId(), newAppId()] as const
  await write([
    [decisionOf(a, 'i', { offset: 9, ...p }), decisionOf(b, 'i', { offset: 1, ...q })],
    [decisionOf(a, 'i', { offset: 8 }), decisionOf(b, 'i', { offset: 2 })],
  ])
  expect(await countingOf(clickhouse, a)).toMatchObject([{ partner: 'p', signs: 1 }])
  expect(await countingOf(clickhouse, b)).toMatchObject([{ partner: 'organic', signs: 1 }])
})

test('records that nobody can read or that ClickHouse refuses become dead letters, and hold up nothing', async () => {
  const app_id = newAppId()
  const refused = { place: { topic: 'events.accepted.v1@a', partition: -1, offset: 7, index: 0 } }
  const { broker } = await write([
    [
      decisionOf(app_id, 'before', { offset: 1, ...p }),
      { v: 2 } as unknown as Decision,
      decisionOf(app_id, 'early', { offset: 1, installed_at_ms: 9e15 }),
      decisionOf(app_id, 'i', { offset: 2, ...p }),
      decisionOf(app_id, 'i', { offset: 3, ...q, ...refused }),
      decisionOf(app_id, 'i', { offset: 4 }),
      decisionOf(app_id, 'after', { offset: 5, ...q }),
    ],
  ])
  const dead = broker.records(deadLetterTopic(topic).name, 0)
  expect(dead.map(({ headers }) => `${headers.source_offset} ${headers.reason}`).toSorted()).toEqual([
    '1 undecodable',
    '2 undecodable',
    '4 row_refused',
  ])
  expect(await countingOf(clickhouse, app_id)).toMatchObject([
    { install_uuid: 'after', partner: 'q', signs: 1 },
    { install_uuid: 'before', partner: 'p', signs: 1 },
    { install_uuid: 'i', partner: 'organic', signs: 1 },
  ])
  const { held, recounted } = await derivedTables(clickhouse, app_id)
  expect(held).toEqual(recounted)
})

test('the engine that was put back to an earlier state gets the lost decisions again', async () => {
  const app_id = newAppId()
  const { broker } = await write([
    [decisionOf(app_id, 'i', { offset: 1, ...p })],
    [decisionOf(app_id, 'i', { offset: 2, ...q }), decisionOf(app_id, 'j', { offset: 2, ...q })],
  ])
  for (const table of ['installs_v1', 'installs_by_day_v1', 'install_claims_v1', 'installs_pending_v1']) {
    await clickhouse.command(`DELETE FROM ${table} WHERE app_id = '${app_id}' AND offset > 0`)
  }
  await broker.publish([recordOf(decisionOf(app_id, 'k', { offset: 3 }), 0)])
  await runToEnd(broker, clickhouse)
  expect(await countingOf(clickhouse, app_id)).toMatchObject([
    { install_uuid: 'i', partner: 'q', signs: 1 },
    { install_uuid: 'j', partner: 'q', signs: 1 },
    { install_uuid: 'k', partner: 'organic', signs: 1 },
  ])
  expect(await wrongSums(clickhouse, app_id)).toEqual([])
})

test('a log that was put back loses no decision whose offset another one had before', async () => {
  const app_id = newAppId()
  const first = decisionOf(app_id, 'i', { offset: 1, ...p })
  const { broker } = await write([[first]])
  const committed = broker.committed(group, topic.name, 0)!
  await broker.publish([recordOf(decisionOf(app_id, 'lost', { offset: 2, ...q }), 0)])
  await runToEnd(broker, clickhouse)

  const back = newLog()
  await back.publish([recordOf(first, 0)])
  back.setCommitted(group, topic.name, 0, committed)
  const newer = 'installs.found.v1@b'
  await back.publish([recordOf(decisionOf(app_id, 'new', { offset: 2, log: newer, ...q }), 0)])
  await runToEnd(back, clickhouse)
  expect(await countingOf(clickhouse, app_id)).toHaveLength(3)
  await back.publish([recordOf(decisionOf(app_id, 'lost', { offset: 3, log: newer, ...p }), 0)])
  await runToEnd(back, clickhouse)
  expect(await countingOf(clickhouse, app_id)).toMatchObject([
    { install_uuid: 'i', partner: 'p', signs: 1 },
    { install_uuid: 'lost', partner: 'p', signs: 1 },
    { install_uuid: 'new', partner: 'q', signs: 1 },
  ])
  expect(await wrongSums(clickhouse, app_id)).toEqual([])
  const logs = await clickhouse.query(`SELECT DISTINCT topic FROM installs_v1 WHERE app_id = '${app_id}'`)
  expect(logs).toHaveLength(2)
})

test('a new log waits for an insert that an older one has at work, and then cancels once', async () => {
  const app_id = newAppId()
  const { broker } = await write([[decisionOf(app_id, 'i', { offset: 1, ...p })]])
  await broker.publish([recordOf(decisionOf(app_id, 'i', { offset: 2, ...q }), 0)])
  // A process sends its insert and dies; the insert goes on in the engine.
  let sent: Parameters<Clickhouse['insert']>[0] | null = null
  const dying = await start(broker, {
    ...clickhouse,
    async insert(block) {
      sent ??= block
      throw new Error('no answer')
    },
  })
  await until(() => sent !== null, 'the insert')
  await dying.close()
  broker.setCommitted(group, topic.name, 0, null)
  const asked: string[] = []
  await runToEnd(broker, {
    ...clickhouse,
    async isInserting(prefix) {
      asked.push(prefix)
      if (asked.length > 1) return false
      await clickhouse.insert(sent!)
      return true
    },
  })
  expect(asked[0]).toBe(`install-writer/${topic.name}/0/`)
  expect(sent!.token.startsWith(asked[0]!)).toBe(true)
  expect(await wrongSums(clickhouse, app_id)).toEqual([])
  expect(await countingOf(clickhouse, app_id)).toMatchObject([{ partner: 'q', signs: 1 }])
})

test('metrics tell how late the first verdict was, which verdicts changed, and what was ignored', async () => {
  const app_id = newAppId()
  const { registry } = await write([
    [
      decisionOf(app_id, 'i', { offset: 1, verdict: null }),
      decisionOf(app_id, 'i', { offset: 2, ...p }),
      decisionOf(app_id, 'i', { offset: 3, ...p }),
      decisionOf(app_id, 'i', { offset: 4, ...q }),
      decisionOf(app_id, 'i', { offset: 2 }),
    ],
  ])
  const text = await registry.metrics()
  expect(text).toContain('tributary_install_attributed_seconds_sum 3\n')
  expect(text).toContain('tributary_install_attributed_seconds_count 1\n')
  expect(text).toContain('tributary_verdicts_changed_total 1\n')
  expect(text).toContain('tributary_consumer_dropped_total{consumer="install-writer",reason="behind"} 1\n')
  expect(text).toContain('tributary_consumer_dropped_total{consumer="install-writer",reason="unchanged"} 1\n')
  expect(text).toContain('tributary_consumer_written_total{consumer="install-writer"} 5\n')
})
