import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storedEventColumns } from '@tributary/contracts/rows'
import { tables as declared, type TableName } from '@tributary/contracts/tables'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { dumpSchema } from '../../src/schema/dump-schema.ts'
import { migrateClickhouse } from '../../src/schema/migrate.ts'
import { migrationsDir } from '../../src/schema/migration-files.ts'

let clickhouse: TestClickhouse
let dir: string
beforeEach(async () => {
  clickhouse = await openTestClickhouse({ migrated: false })
  dir = await mkdtemp(join(tmpdir(), 'tributary-migrations-'))
})
afterEach(async () => {
  await clickhouse.close()
  await rm(dir, { recursive: true, force: true })
})

const tableFile = (name: string) =>
  `CREATE TABLE IF NOT EXISTS ${name} {{on_cluster}} (a UInt8) ENGINE = {{replicated}}MergeTree ORDER BY a SETTINGS {{dedupe_window}}`
const ofNoApp = (name: string): boolean => 'of_no_app' in declared[name as TableName]

/** docs/decisions/writing.md#parts-are-synced-before-an-insert-is-answered */
const synced = [
  'fsync_after_insert = 1',
  'fsync_part_directory = 1',
  'min_rows_to_fsync_after_merge = 1',
  'min_compressed_bytes_to_fsync_after_merge = 1',
]
const write = (name: string, text: string) => writeFile(join(dir, name), text)
const recorded = () => clickhouse.query<{ n: number }>('SELECT count() AS n FROM schema_migrations_v1 FINAL')

describe('migrations of the product', () => {
  test('an empty engine gets every table, a second run changes nothing', async () => {
    const files = (await readdir(migrationsDir)).toSorted().map((file) => file.slice(0, -'.sql'.length))
    expect(await migrateClickhouse({ clickhouse })).toEqual(files)
    const schema = await dumpSchema(clickhouse)
    expect(await migrateClickhouse({ clickhouse })).toEqual([])
    expect(await dumpSchema(clickhouse)).toBe(schema)
  })

  test('several runs at once end in the same schema, each migration recorded once', async () => {
    await Promise.all(Array.from({ length: 4 }, () => migrateClickhouse({ clickhouse })))
    expect(await dumpSchema(clickhouse)).toBe(await readFile(join(migrationsDir, '../schema.sql'), 'utf8'))
    expect(await recorded()).toEqual([{ n: (await readdir(migrationsDir)).length }])
  })

  test('a run that was killed before it recorded its statement is finished by the next', async () => {
    const [first] = await readdir(migrationsDir)
    const statement = await readFile(join(migrationsDir, first!), 'utf8')
    await clickhouse.command(
      statement
        .replaceAll(/\{\{(on_cluster|replicated)\}\}/g, '')
        .replace('{{dedupe_window}}', 'non_replicated_deduplication_window = 10000'),
    )
    await migrateClickhouse({ clickhouse })
    expect(await dumpSchema(clickhouse)).toBe(await readFile(join(migrationsDir, '../schema.sql'), 'utf8'))
  })

  test('a dry run says what would run and writes nothing', async () => {
    const would = await migrateClickhouse({ clickhouse, dryRun: true })
    expect(would).toHaveLength((await readdir(migrationsDir)).length)
    expect(await clickhouse.query(`SELECT name FROM system.tables WHERE database = currentDatabase()`)).toEqual([])
  })

  test('the row schema equals the table', async () => {
    await migrateClickhouse({ clickhouse })
    const columns = await clickhouse.query<{ name: string }>(
      `SELECT name FROM system.columns WHERE database = currentDatabase() AND table = 'events_raw_v1'`,
    )
    expect(columns.map(({ name }) => name).toSorted()).toEqual(storedEventColumns.toSorted())
  })

  test('every table begins its order with the app, if its rows have one, explains its columns and knows repeated inserts', async () => {
    await migrateClickhouse({ clickhouse })
    const tables = await clickhouse.query<{ name: string; sorting_key: string; create: string; silent: number }>(`
      SELECT name, sorting_key, create_table_query AS create,
        (SELECT count() FROM system.columns AS c WHERE c.database = currentDatabase() AND c.comment = ''
          AND NOT endsWith(c.table, '_mv_v1')) AS silent
      FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND name != 'schema_migrations_v1'`)
    expect(tables.length).toBeGreaterThan(0)
    for (const table of tables) {
      expect(table.sorting_key).toMatch(ofNoApp(table.name) ? /^(?!app_id)/ : /^app_id(, |$)/)
      expect(table.create).toMatch(/non_replicated_deduplication_window = 10000/)
      expect(table.silent).toBe(0)
    }
  })

  test('every table that an insert or a view fills has its rows on the disk before the answer', async () => {
    await migrateClickhouse({ clickhouse })
    const tables = await clickhouse.query<{ name: string; settings: string }>(`
      SELECT name, replaceRegexpOne(engine_full, '.* SETTINGS ', '') AS settings
      FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND name != 'schema_migrations_v1'`)
    expect(tables.length).toBeGreaterThan(0)
    for (const { name, settings } of tables) {
      expect({ name, settings: settings.split(', ') }).toEqual({ name, settings: expect.arrayContaining(synced) })
    }
  })
})

describe('the migrator', () => {
  test('refuses a database from before the baseline, and says what to do', async () => {
    await write('0001_events_raw.sql', tableFile('events_raw_v1'))
    await migrateClickhouse({ clickhouse, dir })
    await expect(migrateClickhouse({ clickhouse })).rejects.toThrow('development version from before the baseline')
  })

  test('refuses a migration that was edited after it ran, and changes nothing', async () => {
    await write('0001_a.sql', tableFile('a'))
    await migrateClickhouse({ clickhouse, dir })
    await write('0001_a.sql', `${tableFile('a')} -- edited`)
    await write('0002_b.sql', tableFile('b'))
    await expect(migrateClickhouse({ clickhouse, dir })).rejects.toThrow(/0001_a was changed/)
    expect(await dumpSchema(clickhouse)).not.toMatch(/TABLE b/)
  })

  test('refuses a schema ahead of the code', async () => {
    await write('0001_a.sql', tableFile('a'))
    await write('0002_b.sql', tableFile('b'))
    await migrateClickhouse({ clickhouse, dir })
    await rm(join(dir, '0002_b.sql'))
    await expect(migrateClickhouse({ clickhouse, dir })).rejects.toThrow(
      /ahead of this code: it holds migration 0002_b/,
    )
  })

  test('finds nothing to do on a schema that only accepted migrations are ahead of, and refuses one more', async () => {
    await write('0001_a.sql', tableFile('a'))
    await write('0002_b.sql', tableFile('b'))
    await write('0003_drop_b.sql', 'DROP TABLE IF EXISTS b {{on_cluster}}')
    await migrateClickhouse({ clickhouse, dir })
    await Promise.all(['0002_b.sql', '0003_drop_b.sql'].map((file) => rm(join(dir, file))))
    const plan = (accepts: (name: string) => boolean) => migrateClickhouse({ clickhouse, dir, dryRun: true, accepts })
    expect(await plan(() => true)).toEqual([])
    await expect(plan((name) => name === '0002_b')).rejects.toThrow('it holds migration 0003_drop_b')
  })

  test.each([
    ['that fails when it runs twice', '0001_a.sql', 'CREATE TABLE a (a UInt8) ENGINE = MergeTree ORDER BY a'],
    ['that adds rows', '0001_a.sql', 'INSERT INTO a SELECT 1'],
    ['that adds a column without IF NOT EXISTS', '0001_a.sql', 'ALTER TABLE a ADD COLUMN b UInt8'],
    ['with two statements', '0001_a.sql', `${tableFile('a')}; ${tableFile('b')}`],
    ['with an unknown placeholder', '0001_a.sql', 'CREATE TABLE IF NOT EXISTS a {{nope}} (a UInt8)'],
    ['without a number', 'a.sql', tableFile('a')],
    ['that renames', '0001_a.sql', 'RENAME TABLE a TO b'],
    ['that changes the query of a view', '0001_a.sql', 'ALTER TABLE a MODIFY QUERY SELECT 1'],
  ])('refuses a file %s', async (_what, name, text) => {
    await write(name, text)
    await expect(migrateClickhouse({ clickhouse, dir })).rejects.toThrow()
    expect(await clickhouse.query(`SELECT name FROM system.tables WHERE name = 'a'`)).toEqual([])
  })
})
