import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { day, decisionOf, verdictOf } from './decisions.ts'
import { newAppId, partitions, recordOf, runToEnd } from './stage.ts'

const day_ms = 24 * 3600 * 1000
let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

async function stampsOfMoney(app_id: string): Promise<Record<string, number>> {
  const rows = await clickhouse.query<{ day: string; stamp: number }>(
    `SELECT toString(t.day) AS day, sum(rows) AS stamp FROM report_stamps_v1 AS t
     WHERE app_id = {app_id:String} AND source = 'money' GROUP BY t.day`,
    { app_id },
  )
  return Object.fromEntries(rows.map((row) => [row.day, row.stamp]))
}

test('a changed verdict adds to the stamps of the days with money of its install, also when it dies before', async () => {
  const app_id = newAppId()
  const money = [0, 3].map((later) =>
    testEventRow({
      ...{
        app_id,
        install_uuid: 'i',
        ts_ms: day + later * day_ms,
        revenue_micros: '5',
        currency: 'USD',
        offset: later,
      },
    }),
  )
  const other = testEventRow({ app_id, install_uuid: 'j', ts_ms: day + day_ms, revenue_micros: '5', currency: 'USD' })
  await clickhouse.insertEvents([...money, other], app_id)
  const broker = memoryBroker(partitions, () => day)
  let before = await stampsOfMoney(app_id)
  let bumps = 0
  const dying: Clickhouse = {
    ...clickhouse,
    async insert(block) {
      if (block.table === 'report_stamps_v1' && bumps++ === 1) throw new Error('killed')
      await clickhouse.insert(block)
    },
  }
  for (const [index, engine] of [clickhouse, dying].entries()) {
    const verdict = verdictOf(index === 0 ? 'p' : 'q')
    await broker.publish([recordOf(decisionOf(app_id, 'i', { offset: index + 1, verdict }), 0)])
    await runToEnd(broker, engine)
    const after = await stampsOfMoney(app_id)
    const raised = Object.keys(after).filter((one) => after[one]! > (before[one] ?? 0))
    expect(raised).toEqual(money.map((row) => row.day))
    before = after
  }
  expect(bumps).toBe(4) // before and after the verdicts, of two tries
})

test('settled money of an install is old as soon as its new verdict is there: a kill right then leaves no wrong figure', async () => {
  const app_id = newAppId()
  const money = { revenue_micros: '5', currency: 'USD' }
  await clickhouse.insertEvents([testEventRow({ app_id, install_uuid: 'i', ts_ms: day, ...money })], app_id)
  const broker = memoryBroker(partitions, () => day)
  const seen: number[] = []
  const watched: Clickhouse = {
    ...clickhouse,
    async insert(block) {
      await clickhouse.insert(block)
      if (block.table === 'installs_v1') seen.push(...Object.values(await stampsOfMoney(app_id)))
    },
  }
  const before = Object.values(await stampsOfMoney(app_id))
  await broker.publish([recordOf(decisionOf(app_id, 'i', { offset: 1, verdict: verdictOf('p') }), 0)])
  await runToEnd(broker, watched)
  expect([before.length, seen.length]).toEqual([1, 1])
  expect(seen[0]).toBeGreaterThan(before[0]!)
})
