import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { dumpSchema } from '../src/dump-schema.ts'
import { migratePostgres } from '../src/migrate.ts'

let kept: TestPostgres
beforeAll(async () => {
  kept = await openTestPostgres({ migrated: false })
})
afterAll(() => kept.close())

async function emptyDatabase() {
  const postgres = await openTestPostgres({ migrated: false })
  onTestFinished(() => postgres.close())
  return postgres.pool
}

/** A folder of migrations that a test may change. */
async function migrationsFolder(files: Record<string, string> = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-migrations-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  for (const [name, sql] of Object.entries(files)) await writeFile(join(dir, name), sql)
  return dir
}

test('an empty database gets the whole schema, and a second run changes nothing', async () => {
  const pool = await emptyDatabase()
  const { files } = await migratePostgres({ pool })
  expect(files[0]).toBe('0001_tenants.sql')
  const schema = await dumpSchema(pool)
  expect(schema).toContain('CREATE TABLE server_keys')
  expect(await migratePostgres({ pool })).toEqual({ files: [] })
  expect(await dumpSchema(pool)).toBe(schema)
})

test('two processes at once apply each migration once', async () => {
  const pool = await emptyDatabase()
  const dir = await migrationsFolder({
    '0001_one.sql': 'CREATE TABLE one (); SELECT pg_sleep(0.2)',
    '0002_two.sql': 'CREATE TABLE two ()',
  })
  const runs = await Promise.all([1, 2, 3].map(() => migratePostgres({ pool, dir })))
  expect(runs.flatMap(({ files }) => files).sort()).toEqual(['0001_one.sql', '0002_two.sql'])
})

test('a dry run says what would be done and does nothing', async () => {
  const pool = await emptyDatabase()
  const dir = await migrationsFolder({ '0001_one.sql': 'CREATE TABLE one ()' })
  expect(await migratePostgres({ pool, dir, dryRun: true })).toEqual({ files: ['0001_one.sql'] })
  expect(await migratePostgres({ pool, dir })).toEqual({ files: ['0001_one.sql'] })
  expect(await migratePostgres({ pool, dir, dryRun: true })).toEqual({ files: [] })
})

test('a migration that fails half-way leaves nothing of itself, and what came before stays', async () => {
  const pool = await emptyDatabase()
  const dir = await migrationsFolder({
    '0001_one.sql': 'CREATE TABLE one ()',
    '0002_two.sql': 'CREATE TABLE two (); SELECT 1 / 0',
  })
  await expect(migratePostgres({ pool, dir })).rejects.toThrow(
    '0002_two.sql failed, nothing of it was kept: division by zero',
  )
  const { rows } = await pool.query("SELECT to_regclass('one') AS one, to_regclass('two') AS two")
  expect(rows).toEqual([{ one: 'one', two: null }])
  await writeFile(join(dir, '0002_two.sql'), 'CREATE TABLE two ()')
  expect(await migratePostgres({ pool, dir })).toEqual({ files: ['0002_two.sql'] })
})

test('an applied migration that was changed is refused', async () => {
  const pool = await emptyDatabase()
  const dir = await migrationsFolder({ '0001_one.sql': 'CREATE TABLE one ()' })
  await migratePostgres({ pool, dir })
  await writeFile(join(dir, '0001_one.sql'), 'CREATE TABLE one (more int)')
  for (const dryRun of [true, false]) {
    await expect(migratePostgres({ pool, dir, dryRun })).rejects.toThrow(
      '0001_one.sql was changed after it was applied',
    )
  }
})

test('a database from before the baseline is refused, and the message says what to do', async () => {
  const pool = await emptyDatabase()
  await migratePostgres({ pool })
  await pool.query("UPDATE schema_migrations SET checksum = 'of an earlier file' WHERE version = 1")
  await expect(migratePostgres({ pool })).rejects.toThrow('development version from before the baseline')
})

test('a schema ahead of the code is refused', async () => {
  const pool = await emptyDatabase()
  const newer = await migrationsFolder({ '0001_one.sql': 'CREATE TABLE one ()', '0002_two.sql': 'CREATE TABLE two ()' })
  await migratePostgres({ pool, dir: newer })
  const older = await migrationsFolder()
  await cp(join(newer, '0001_one.sql'), join(older, '0001_one.sql'))
  for (const dryRun of [true, false]) {
    await expect(migratePostgres({ pool, dir: older, dryRun })).rejects.toThrow(
      'ahead of this code (it has 0002_two.sql)',
    )
  }
})

test('a schema that only accepted files are ahead of the code lacks nothing, and one more refuses it', async () => {
  const pool = await emptyDatabase()
  const tables = { '0001_one.sql': 'CREATE TABLE one ()', '0002_two.sql': 'CREATE TABLE two ()' }
  await migratePostgres({ pool, dir: await migrationsFolder({ ...tables, '0003_drop_two.sql': 'DROP TABLE two' }) })
  const older = await migrationsFolder({ '0001_one.sql': tables['0001_one.sql'] })
  const plan = (accepts: (file: string) => boolean) => migratePostgres({ pool, dir: older, dryRun: true, accepts })
  expect(await plan(() => true)).toEqual({ files: [] })
  await expect(plan((file) => file === '0002_two.sql')).rejects.toThrow('it has 0003_drop_two.sql')
})

test.each<Record<string, string>>([
  { '1_one.sql': '' },
  { '0001_One.sql': '' },
  { '0002_two.sql': '' },
  { '0001_a.sql': '', '0001_b.sql': '' },
])('files that do not count up from 0001 are refused: %j', async (files) => {
  const dir = await migrationsFolder(files)
  await expect(migratePostgres({ pool: kept.pool, dir })).rejects.toThrow()
})
