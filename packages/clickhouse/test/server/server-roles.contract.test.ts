import { execFileSync } from 'node:child_process'
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import { expect, it } from 'vitest'
import { testServer } from './server-under-test.ts'

const folder = join(import.meta.dirname, '../../../../clickhouse')
const read = async (file: string) => (await readFile(join(folder, file), 'utf8')).replaceAll(/^--.*$/gm, '')
const split = (script: string) =>
  script
    .replaceAll(/^--.*$/gm, '')
    .split(';')
    .map((statement) => statement.trim())
    .filter(Boolean)
const roles = await read('roles.sql')
const statements = split(roles)

await describeWithEngine('clickhouse', ({ url }) => {
  /** As the engine itself words them. */
  async function format(given: readonly string[]): Promise<string[]> {
    const clickhouse = await openClickhouseServer(testServer(url, { database: 'default' }))
    const formatted: string[] = []
    for (const sql of given) {
      const [row] = await clickhouse.query<{ formatted: string }>('SELECT formatQuery({sql:String}) AS formatted', {
        sql,
      })
      formatted.push(row!.formatted)
    }
    await clickhouse.close()
    return formatted
  }

  it('roles.sql is what this version of the engine understands', async () => {
    for (const formatted of await format(statements)) expect(formatted).toMatch(/^(CREATE|GRANT)/)
  })

  it('the commands of the README make statements for a whole cluster of it', async () => {
    const commands = /```sh\n(sed [\s\S]*?)```/.exec(await readFile(join(folder, 'README.md'), 'utf8'))![1]!
    const dir = await mkdtemp(join(tmpdir(), 'tributary-roles-'))
    await cp(join(folder, 'roles.sql'), join(dir, 'clickhouse', 'roles.sql'))
    execFileSync('sh', ['-euc', commands], { cwd: dir })
    const made = split(await readFile(join(dir, 'roles-on-cluster.sql'), 'utf8'))
    await rm(dir, { recursive: true })
    expect(made).toHaveLength(statements.length + 1)
    for (const formatted of await format(made))
      expect(formatted).toMatch(/^(CREATE|GRANT)[\s\S]* ON CLUSTER analytics\b/)
  })
})

it('gives rights only on tables that the migrations make', async () => {
  const schema = await read('schema.sql')
  const tables = [...roles.matchAll(/ON tributary\.(\w+)/g)].map(([, table]) => table)
  expect(tables.length).toBeGreaterThan(0)
  for (const table of tables) expect(schema).toContain(`CREATE TABLE ${table}`)
})

/** All rights of a user, a line each. */
function rightsOf(user: string): string[] {
  const found = statements.filter((sql) => sql.startsWith('GRANT') && sql.includes(`TO ${user} `))
  expect(found).toHaveLength(1)
  const [, rights] = /^GRANT\n([\s\S]+)\nTO \w+ WITH REPLACE OPTION$/.exec(found[0]!)!
  return rights!.split(',\n').map((right) => right.trim())
}

const users = [...roles.matchAll(/CREATE USER IF NOT EXISTS (\w+)/g)].map(([, user]) => user!)

it('lets the report API read and nothing else', () => {
  const rights = rightsOf('tributary_report_api')
  expect(rights.length).toBeGreaterThan(5)
  for (const right of rights)
    expect(right).toMatch(/^(SELECT ON (tributary\.\w+|system\.replicas)|SYSTEM SYNC REPLICA ON tributary\.\*)$/)
})

it.each([
  ['admin_api', ['SELECT, INSERT ON tributary.costs_v1']],
  ['replayer', []],
  ['reconciler', []],
])('lets %s write no more than costs', (user, written) => {
  const rights = rightsOf(`tributary_${user}`).filter((right) => !written.includes(right))
  expect(rights.length).toBeGreaterThan(3)
  for (const right of rights)
    expect(right).toMatch(/^(SELECT ON (tributary\.\w+|system\.replicas)|SYSTEM SYNC REPLICA ON tributary\.\*)$/)
})

it('lets the eraser read every table that it deletes from', () => {
  const rights = rightsOf('tributary_eraser')
  const deleted = rights.flatMap((right) => /^ALTER DELETE ON (\S+)$/.exec(right)?.[1] ?? [])
  expect(deleted).toContain('tributary.money_days_v1')
  for (const table of deleted) expect(rights.join('\n')).toMatch(new RegExp(`^SELECT.* ON ${table}$`, 'm'))
})

// The test engine has no users: that the rights suffice is seen on a server only (clickhouse/README.md).
it('lets every service see which migrations ran', () => {
  expect(users).toContain('tributary_event_writer')
  for (const user of users)
    expect(rightsOf(user).join('\n')).toMatch(/^SELECT.* ON tributary\.(\*|schema_migrations_v1)$/m)
})
