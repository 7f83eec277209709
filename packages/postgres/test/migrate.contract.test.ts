import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
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

test.each<Record<string, string>>([
  { '1_one.sql': '' },
  { '0001_One.sql': '' },
  { '0002_two.sql': '' },
  { '0001_a.sql': '', '0001_b.sql': '' },
])('files that do not count up from 0001 are refused: %j', async (files) => {
  const dir = await migrationsFolder(files)
  await expect(migratePostgres({ pool: kept.pool, dir })).rejects.toThrow()
})

test('a server key from before there were scopes has all of them', async () => {
  const pool = await emptyDatabase()
  const all = join(import.meta.dirname, '..', 'migrations')
  const dir = await migrationsFolder()
  for (const file of ['0001_tenants.sql', '0002_fx_rates.sql', '0003_master_key_check.sql']) {
    await cp(join(all, file), join(dir, file))
  }
  await migratePostgres({ pool, dir })
  await pool.query(`
    INSERT INTO companies VALUES ('co_1', 'k', 'n', 'free', 1, 'active', now());
    INSERT INTO apps VALUES ('app_1', 'co_1', 'k', 'n', 'ios', null, null, null, 'm', '${bytes(12)}', '', '${bytes(16)}', now());
    INSERT INTO server_keys VALUES ('key_1', 'app_1', '${bytes(32)}', 'a', 'b', 'l', '{}', now(), null)`)
  await migratePostgres({ pool, dir: all })
  const { rows } = await pool.query('SELECT scopes FROM server_keys')
  expect(rows).toEqual([{ scopes: ['events:write', 'reports:read'] }])
})

test('two apps that have one store id both go on after the upgrade, and the first of them owns it', async () => {
  const pool = await emptyDatabase()
  const all = join(import.meta.dirname, '..', 'migrations')
  const dir = await migrationsFolder()
  const before = (await readdir(all)).filter((file) => file < '0010')
  for (const file of before) await cp(join(all, file), join(dir, file))
  await migratePostgres({ pool, dir })
  await pool.query("INSERT INTO companies VALUES ('co_1', 'k', 'n', 'free', 1, 'active', now())")
  for (const [app_id, platform, store_id, made] of [
    ['app_later', 'ios', '0123', 2],
    ['app_first', 'ios', '123', 1],
    ['app_same_time', 'ios', '123', 1],
    ['app_other', 'ios', '124', 3],
    ['app_none', 'ios', '', 1],
    ['app_none_too', 'ios', null, 1],
    ['app_zero', 'ios', '0', 1],
    ['app_zeros', 'ios', '00', 2],
    ['app_android', 'android', '123', 0],
  ])
    await pool.query(
      `INSERT INTO apps VALUES ($1, 'co_1', $1, 'n', $2, null, $3, null, 'm', '${bytes(12)}', '', '${bytes(16)}', to_timestamp($4))`,
      [app_id, platform, store_id, made],
    )
  await migratePostgres({ pool, dir: all })
  const { rows } = await pool.query(
    "SELECT app_id, owns_store_id AS owns FROM apps WHERE store_id LIKE '%12%' ORDER BY app_id",
  )
  expect(rows).toEqual([
    { app_id: 'app_android', owns: true },
    { app_id: 'app_first', owns: true },
    { app_id: 'app_later', owns: false },
    { app_id: 'app_other', owns: true },
    { app_id: 'app_same_time', owns: false },
  ])
  expect((await pool.query('SELECT count(*)::int AS apps FROM apps')).rows).toEqual([{ apps: 9 }])
})

const bytes = (count: number) => `\\x${'00'.repeat(count)}`
