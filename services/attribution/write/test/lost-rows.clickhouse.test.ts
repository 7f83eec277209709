import { derivedNames, derivedOf } from '@tributary/contracts/tables'
import { completeInstalls } from '@tributary/tables/attribution/complete-installs'
import { refillTables } from '@tributary/tables/repair/refill-tables'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { day, decisionOf, verdictOf } from './decisions.ts'
import {
  countingOf,
  derivedTables,
  group,
  newAppId,
  partitions,
  recordOf,
  runToEnd,
  topic,
  wrongSums,
} from './stage.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

const tables = derivedNames.filter((name) => derivedOf(name).from === 'installs_v1')
const logger = { info: () => {} }

test.each([[[0]], [[1]], [[2]], [[0, 1]], [[0, 2]], [[1, 2]], [[0, 1, 2]]])(
  'after a part with the records %j was lost, each install counts by its newest decision again',
  async (lost) => {
    const app_id = newAppId()
    const broker = memoryBroker(partitions, () => day)
    const verdicts = [verdictOf('p'), verdictOf('q'), verdictOf('r')]
    for (const [offset, verdict] of verdicts.entries()) {
      const decision = (uuid: string) => recordOf(decisionOf(app_id, uuid, { offset: offset + 1, verdict }), 0)
      await broker.publish([decision('i')])
      if (offset === 2) await broker.publish([decision('whole')])
      await runToEnd(broker, clickhouse)
    }
    await clickhouse.command(`DELETE FROM installs_v1 WHERE app_id = '${app_id}' AND offset IN (${lost})`)

    await completeInstalls(clickhouse)
    await refillTables({ clickhouse, tables, logger })
    const before = await derivedTables(clickhouse, app_id)
    expect(before.held).toEqual(before.recounted)
    expect(await wrongSums(clickhouse, app_id)).toEqual([])
    broker.setCommitted(group, topic.name, 0, null)
    await runToEnd(broker, clickhouse)

    expect(await countingOf(clickhouse, app_id)).toMatchObject([
      { install_uuid: 'i', partner: 'r', signs: 1 },
      { install_uuid: 'whole', partner: 'r', signs: 1 },
    ])
    expect(await wrongSums(clickhouse, app_id)).toEqual([])
    const { held, recounted } = await derivedTables(clickhouse, app_id)
    expect(held).toEqual(recounted)
  },
)

test('installs that lack nothing keep all their rows', async () => {
  const app_id = newAppId()
  const broker = memoryBroker(partitions, () => day)
  const verdicts = [null, verdictOf('p'), verdictOf('p', { fraud_flags: ['fast_install'] }), verdictOf('organic')]
  await broker.publish(verdicts.map((verdict, n) => recordOf(decisionOf(app_id, 'i', { offset: n + 1, verdict }), 0)))
  await runToEnd(broker, clickhouse)
  const rows = () => clickhouse.query(`SELECT offset, sign FROM installs_v1 WHERE app_id = '${app_id}' ORDER BY ALL`)
  const before = await rows()
  expect(before).toHaveLength(7)
  await completeInstalls(clickhouse)
  expect(await rows()).toEqual(before)
})
