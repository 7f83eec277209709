import type { Click } from '@tributary/contracts/attribution/click'
import { topics } from '@tributary/contracts/topics'
import { readClickArchives } from '@tributary/tables/attribution/click-archive'
import { clickRecord } from '@tributary/tables/attribution/records'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import type { MemoryBroker } from '@tributary/testing/twins/memory-broker'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clickOf, day, makeStage, newAppId, noon, runToEnd } from './stage.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

const group = 'click-writer'
const topic = topics.clicksRecorded.name
const publish = (broker: MemoryBroker, clicks: readonly Click[]) =>
  broker.publish(clicks.map((click) => ({ ...clickRecord(click, 1), partition: 0 })))

const stored = async (app_id: string) => {
  const rows = await clickhouse.query<{ id: string }>(
    'SELECT click_id AS id FROM clicks_raw_v1 FINAL WHERE app_id = {app_id:String} ORDER BY id',
    { app_id },
  )
  const keys = await clickhouse.query<{ id: string }>(
    'SELECT DISTINCT click_id AS id FROM click_keys_v1 WHERE app_id = {app_id:String} ORDER BY id',
    { app_id },
  )
  expect(keys).toEqual(rows)
  return rows.map(({ id }) => id)
}
const idsOf = (clicks: readonly Click[]) => clicks.map(({ click_id }) => click_id).toSorted()
const logOf = ({ committed }: MemoryBroker) => JSON.parse(committed(group, topic, 0)!.metadata).log

const clicksOf = (app_id: string, count: number) =>
  Array.from({ length: count }, (_, n) => clickOf({ app_id, clicked_at_ms: noon + n }))

test('the engine that was put back to an earlier state gets the lost clicks again', async () => {
  const app_id = newAppId()
  const stage = makeStage()
  const [first, lost, next] = clicksOf(app_id, 3) as [Click, Click, Click]
  for (const click of [first, lost]) {
    await publish(stage.broker, [click])
    await runToEnd(clickhouse, stage)
  }
  for (const table of ['clicks_raw_v1', 'click_keys_v1']) {
    await clickhouse.command(`DELETE FROM ${table} WHERE app_id = '${app_id}' AND click_id = '${lost.click_id}'`)
  }
  await publish(stage.broker, [next])
  await runToEnd(clickhouse, stage)
  expect(await stored(app_id)).toEqual(idsOf([first, lost, next]))
})

test('a log that was put back loses no click whose offset another one had before, neither in tables nor in archives', async () => {
  const app_id = newAppId()
  const stage = makeStage()
  const [first, lost, next] = clicksOf(app_id, 3) as [Click, Click, Click]
  await publish(stage.broker, [first])
  await runToEnd(clickhouse, stage)
  const committed = stage.broker.committed(group, topic, 0)!
  await publish(stage.broker, [lost])
  await runToEnd(clickhouse, stage)

  const back = { ...stage, broker: makeStage().broker }
  await publish(back.broker, [first])
  back.broker.setCommitted(group, topic, 0, committed)
  await publish(back.broker, [next])
  await runToEnd(clickhouse, back)
  expect(await stored(app_id)).toEqual(idsOf([first, lost, next]))
  const archives = await Array.fromAsync(readClickArchives(stage.audit))
  expect(idsOf(archives.flatMap(({ clicks }) => clicks!))).toEqual(idsOf([first, lost, next]))
  expect(logOf(back.broker) > logOf(stage.broker)).toBe(true)
})

test('a last click that ClickHouse dropped by its age is no loss', async () => {
  const app_id = newAppId()
  const stage = makeStage()
  const click = clickOf({ app_id, clicked_at_ms: noon - 90 * day })
  await publish(stage.broker, [click])
  await runToEnd(clickhouse, stage)
  await clickhouse.command(`DELETE FROM clicks_raw_v1 WHERE app_id = '${app_id}'`)
  const log = logOf(stage.broker)
  await publish(stage.broker, clicksOf(app_id, 1))
  await runToEnd(clickhouse, stage)
  expect(logOf(stage.broker)).toBe(log)
})
