import { openClickhouseServer } from '@tributary/clickhouse/server'
import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import { clickhouseSuite } from '@tributary/testing/suites/clickhouse-suite'
import { makeDatabase, testServer } from './server-under-test.ts'

await describeWithEngine('clickhouse', ({ url }) => {
  clickhouseSuite('a server over HTTP', async () => {
    const { database, drop } = await makeDatabase(url)
    return { open: () => openClickhouseServer(testServer(url, { database })), dispose: drop }
  })
})
