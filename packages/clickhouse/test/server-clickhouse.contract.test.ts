import { openClickhouseServer } from '@tributary/clickhouse/server'
import { clickhouseSuite } from '@tributary/testkit/clickhouse-suite'
import { describeWithEngine } from '../../../infra/engines/describe-with-engine.ts'
import { makeDatabase, testServer } from './server-under-test.ts'

await describeWithEngine('clickhouse', ({ url }) => {
  clickhouseSuite('a server over HTTP', async () => {
    const { database, drop } = await makeDatabase(url)
    return { open: () => openClickhouseServer(testServer(url, { database })), dispose: drop }
  })
})
