import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import { expect, it } from 'vitest'
import { describeWithEngine } from '../../../infra/engines/describe-with-engine.ts'
import { testServer } from './server-under-test.ts'

const folder = join(import.meta.dirname, '../../../clickhouse')
const read = async (file: string) => (await readFile(join(folder, file), 'utf8')).replaceAll(/^--.*$/gm, '')
const roles = await read('roles.sql')
const statements = roles
  .split(';')
  .map((statement) => statement.trim())
  .filter(Boolean)

await describeWithEngine('clickhouse', ({ url }) => {
  it('roles.sql is what this version of the engine understands', async () => {
    const clickhouse = await openClickhouseServer(testServer(url, { database: 'default' }))
    for (const sql of statements) {
      const [row] = await clickhouse.query<{ formatted: string }>('SELECT formatQuery({sql:String}) AS formatted', {
        sql,
      })
      expect(row?.formatted).toMatch(/^(CREATE|GRANT)/)
    }
    await clickhouse.close()
  })
})

it('gives rights only on tables that the migrations make', async () => {
  const schema = await read('schema.sql')
  const tables = [...roles.matchAll(/ON tributary\.(\w+)/g)].map(([, table]) => table)
  expect(tables.length).toBeGreaterThan(0)
  for (const table of tables) expect(schema).toContain(`CREATE TABLE ${table}`)
})

it('lets the report API read and nothing else', () => {
  const grants = statements.filter((sql) => sql.startsWith('GRANT') && sql.includes('tributary_report_api'))
  expect(grants).toEqual(['GRANT SELECT ON tributary.* TO tributary_report_api'])
})

// The test engine has no users: that the rights suffice is seen on a server only (clickhouse/README.md).
it('lets every service see which migrations ran', () => {
  const services = [...roles.matchAll(/CREATE USER IF NOT EXISTS (\w+)/g)].map(([, user]) => user)
  expect(services).toContain('tributary_event_writer')
  for (const user of services) {
    expect(roles).toMatch(new RegExp(`GRANT [^;]*SELECT[^;]* ON tributary\\.(\\*|schema_migrations_v1) TO ${user}`))
  }
})
