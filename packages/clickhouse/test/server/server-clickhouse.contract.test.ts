import { openClickhouseServer } from '@tributary/clickhouse/server'
import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import { clickhouseSuite } from '@tributary/testing/suites/clickhouse-suite'
import { expect, it, vi } from 'vitest'
import { makeDatabase, testServer } from './server-under-test.ts'

await describeWithEngine('clickhouse', ({ url }) => {
  clickhouseSuite('a server over HTTP', async () => {
    const { database, drop } = await makeDatabase(url)
    return { open: () => openClickhouseServer(testServer(url, { database })), dispose: drop }
  })

  it('leaves no command at work that it gave up, so that the next one runs alone', async () => {
    const { database, drop } = await makeDatabase(url)
    const clickhouse = await openClickhouseServer(testServer(url, { database, query_timeout_ms: 1000 }))
    await clickhouse.command('CREATE TABLE late (a UInt64) ENGINE = MergeTree ORDER BY a')
    const slow = 'INSERT INTO late SELECT number + sleepEachRow(0.25) FROM numbers(60) SETTINGS max_block_size = 1'
    await expect(clickhouse.command(slow, { name: 'slow' })).rejects.toMatchObject({ code: 'unavailable' })
    await vi.waitFor(async () => expect(await clickhouse.isInserting('slow')).toBe(false), {
      timeout: 180_000,
      interval: 200,
    })
    await clickhouse.close()
    await drop()
  })
})
