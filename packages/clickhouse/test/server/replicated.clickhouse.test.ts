import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { migrationsDir, readMigrations, renderMigration } from '../../src/schema/migration-files.ts'

const cluster = 'analytics'
const migrations = (await readMigrations(migrationsDir)).map((migration) => ({
  name: migration.name,
  statement: renderMigration(migration, { replicated: true, on_cluster: cluster }),
}))
const schema = readFileSync(join(migrationsDir, '..', 'schema.sql'), 'utf8')

/** chdb has no queue for statements of a cluster. */
const onOneServer = (statement: string) => statement.replace(`ON CLUSTER '${cluster}'`, '')
const tableOf = (statement: string) => /^CREATE TABLE IF NOT EXISTS (\w+)/m.exec(statement)?.[1]

/** Runs statements on an engine of its own; gives back the error or the answer of each. */
function run(statements: readonly string[]): string[] {
  const program = join(import.meta.dirname, 'replicated-engine.ts')
  const { stdout, stderr } = spawnSync(process.execPath, [program], {
    input: JSON.stringify(statements),
    encoding: 'utf8',
    timeout: 180_000,
  })
  expect({ stdout, stderr }).toEqual({ stdout: expect.stringMatching(/^\[/), stderr: '' })
  return JSON.parse(stdout)
}

/** chdb takes no change of a replicated table: a table is made as it is after all migrations. */
const withLastColumns = (statement: string): string => {
  const columns = new RegExp(`CREATE TABLE ${tableOf(statement)}\\n(\\([\\s\\S]*?\\n\\))`).exec(schema)?.[1]
  const order = new RegExp(
    `CREATE TABLE ${tableOf(statement)}\\n[\\s\\S]*?\\n((?:PRIMARY KEY .*\\n)?ORDER BY .*)`,
  ).exec(schema)?.[1]
  return columns === undefined || order === undefined
    ? statement
    : statement.replace(/^\([\s\S]*?^\)/m, () => columns).replace(/^(?:PRIMARY KEY .*\n)?ORDER BY .*$/m, () => order)
}

describe('the replicated form of the migrations', () => {
  test('every statement goes to the whole cluster', () => {
    for (const { statement } of migrations) expect(statement).toContain(`ON CLUSTER '${cluster}'`)
  })

  test('every table has a path of its own that is the same for each replica and for each CREATE', () => {
    const tables = migrations.filter(({ statement }) => tableOf(statement) !== undefined)
    const answers = run([
      ...['CREATE DATABASE tributary', 'USE tributary'],
      ...tables.map(({ statement }) => onOneServer(statement)),
      `SELECT name, engine_full FROM system.tables WHERE database = 'tributary' ORDER BY name`,
    ])
    const made = answers.pop()!.trim().split('\n')
    expect(answers.filter((answer) => answer !== '')).toEqual([])
    const names = tables.map(({ statement }) => tableOf(statement)!).toSorted()
    expect(made.map((line) => JSON.parse(line))).toEqual(
      names.map((name) => ({
        name,
        engine_full: expect.stringMatching(
          new RegExp(`^Replicated\\w*MergeTree\\('/clickhouse/tables/${cluster}/tributary/${name}', '{replica}'[,)]`),
        ),
      })),
    )
  })

  test('all of them run one after the other, but for those that change a replicated table', () => {
    const answers = run([
      ...['CREATE DATABASE tributary', 'USE tributary'],
      ...migrations.map(({ statement }) => onOneServer(withLastColumns(statement))),
      `SELECT name FROM system.tables WHERE database = 'tributary' ORDER BY name`,
    ])
    const made = answers.pop()!.trim().split('\n')
    const refused = answers
      .slice(2)
      .flatMap((answer, index) => (answer === '' ? [] : [{ answer, statement: migrations[index]!.statement }]))
    for (const { answer, statement } of refused) {
      expect(answer).toMatch(/\(TABLE_IS_READ_ONLY\)$/)
      expect(statement).toMatch(/ALTER TABLE \w+_v1 ON CLUSTER '\w+'\s+(ADD COLUMN|ADD INDEX|MODIFY SETTING)/)
    }
    expect(refused).toHaveLength(
      migrations.filter(({ statement }) => /ADD COLUMN|ADD INDEX|MODIFY SETTING/.test(statement)).length,
    )
    const expected = [...schema.matchAll(/^CREATE (?:TABLE|MATERIALIZED VIEW) (\w+)/gm)].map(([, name]) => name)
    expect(made.map((line) => JSON.parse(line).name)).toEqual(
      expected.filter((name) => name !== 'schema_migrations_v1').toSorted(),
    )
  })

  test('it is not made without the name of a cluster', async () => {
    const [first] = await readMigrations(migrationsDir)
    expect(() => renderMigration(first!, { replicated: true })).toThrow(/name of their cluster/)
  })
})
