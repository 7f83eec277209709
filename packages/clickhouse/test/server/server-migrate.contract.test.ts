import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import { expect, it } from 'vitest'
import { makeDatabase, testServer } from './server-under-test.ts'

await describeWithEngine('clickhouse', ({ url }) => {
  it('three processes that migrate at the same time come to one schema', async () => {
    const { database, drop } = await makeDatabase(url)
    const migrators = [1, 2, 3].map(() => fork(join(import.meta.dirname, 'server-migrate-once.ts'), [url, database]))
    // All are connected before any begins.
    await Promise.all(migrators.map((migrator) => once(migrator, 'message')))
    const exits = migrators.map((migrator) => once(migrator, 'exit'))
    for (const migrator of migrators) migrator.send('go')
    expect((await Promise.all(exits)).map(([code]) => code)).toEqual([0, 0, 0])

    const clickhouse = await openClickhouseServer(testServer(url, { database }))
    expect(await migrateClickhouse({ clickhouse })).toEqual([])
    const recorded = await clickhouse.query(
      'SELECT version FROM schema_migrations_v1 GROUP BY version HAVING count() > 1',
    )
    expect(recorded).toEqual([])
    const [tables] = await clickhouse.query<{ n: number }>(
      'SELECT count() AS n FROM system.tables WHERE database = currentDatabase()',
    )
    expect(tables?.n).toBeGreaterThan(9)
    await clickhouse.close()
    await drop()
  })
})
