import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { expect, it } from 'vitest'
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

await describeWithEngine('clickhouse', ({ url }) => {
  it('on a server a log that is read again changes no verdict, and fills a view that lacked the last rows', async () => {
    const timeouts = { connect_timeout_ms: 1000, query_timeout_ms: 10_000 }
    const clickhouse = await openClickhouseServer({ url, ...timeouts, max_open_connections: 8, complete_reads: true })
    await migrateClickhouse({ clickhouse })
    const app_id = newAppId()
    const broker = memoryBroker(partitions, () => day)
    for (const [offset, partner] of ['p', 'q', 'p', 'organic'].entries()) {
      const decisions = ['i', 'j'].map((install) =>
        decisionOf(app_id, install, { offset, verdict: verdictOf(partner) }),
      )
      await broker.publish(decisions.map((decision) => recordOf(decision, 0)))
      await runToEnd(broker, clickhouse)
    }
    for (let round = 0; round < 2; round += 1) {
      await clickhouse.command(`DELETE FROM install_claims_v1 WHERE app_id = '${app_id}' AND offset > 4`)
      broker.setCommitted(group, topic.name, 0, null)
      await runToEnd(broker, clickhouse)
    }
    expect(await countingOf(clickhouse, app_id)).toMatchObject([
      { install_uuid: 'i', partner: 'organic', signs: 1 },
      { install_uuid: 'j', partner: 'organic', signs: 1 },
    ])
    expect(await wrongSums(clickhouse, app_id)).toEqual([])
    const { held, recounted } = await derivedTables(clickhouse, app_id)
    expect(held).toEqual(recounted)
    expect(held.install_claims_v1).toHaveLength(12)
    await clickhouse.close()
  })
})
