import { requireClickhouseSchema } from '@tributary/service-kit/resources/clickhouse'
import { requirePostgresSchema } from '@tributary/service-kit/resources/postgres'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { afterAll, beforeAll, expect, it } from 'vitest'

let postgres: TestPostgres
let clickhouse: TestClickhouse

beforeAll(async () => {
  ;[postgres, clickhouse] = await Promise.all([openTestPostgres(), openTestClickhouse()])
})
afterAll(() => Promise.all([postgres?.close(), clickhouse?.close()]))

/** Notes a migration of a later version in both databases. */
async function note(version: number, name: string): Promise<void> {
  const text = 'INSERT INTO schema_migrations (version, file, checksum) VALUES ($1, $2, $3)'
  await postgres.pool.query(text, [version, `${name}.sql`, 'later'])
  await clickhouse.insert({
    ...{ table: 'schema_migrations_v1', columns: ['version', 'name', 'checksum'], token: name },
    lines: JSON.stringify([version, name, 'later']),
  })
}

it('a service starts on schemas that a newer version added to, and refuses those that it took something from', async () => {
  await note(9001, '9001_more')
  await requirePostgresSchema(postgres.pool)
  await requireClickhouseSchema(clickhouse)
  await note(9002, '9002_drop_something')
  await expect(requirePostgresSchema(postgres.pool)).rejects.toThrow(
    'ahead of this code (it has 9002_drop_something.sql)',
  )
  await expect(requireClickhouseSchema(clickhouse)).rejects.toThrow('it holds migration 9002_drop_something')
})
