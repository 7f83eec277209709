import { spawnSync } from 'node:child_process'
import { appendFile, mkdir, mkdtemp, readdir, readFile, rename, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Clickhouse } from '../../src/clickhouse.ts'
import { openEmbeddedClickhouse } from '../../src/embedded/embedded-clickhouse.ts'
import { findBrokenParts } from '../../src/repair/broken-parts.ts'

let data_dir: string
let clickhouse: Clickhouse
beforeEach(async () => {
  data_dir = await mkdtemp(join(tmpdir(), 'tributary-reopen-'))
  clickhouse = await openEmbeddedClickhouse({ data_dir })
  const settings = 'SETTINGS non_replicated_deduplication_window = 100'
  await clickhouse.command(`CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a ${settings}`)
  await clickhouse.command(`CREATE TABLE doubled (a UInt64) ENGINE = MergeTree ORDER BY a ${settings}`)
  await clickhouse.command('CREATE MATERIALIZED VIEW doubled_mv TO doubled AS SELECT a * 2 AS a FROM t')
})
afterEach(async () => {
  await clickhouse.close()
  await rm(data_dir, { recursive: true, force: true })
})

const insert = (a: number | string) =>
  clickhouse.insert({ table: 't', columns: ['a'], lines: `["${a}"]`, token: `token-${a}` })
const read = async (table: string) =>
  (await clickhouse.query<{ a: string }>(`SELECT toString(a) AS a FROM ${table} ORDER BY ${table}.a`)).map(({ a }) => a)

async function reopenAfter(change: () => Promise<void>) {
  await clickhouse.close()
  await change()
  clickhouse = await openEmbeddedClickhouse({ data_dir })
}

const paths = async (pattern: RegExp) =>
  (await readdir(join(data_dir, 'store'), { recursive: true }))
    .filter((path) => pattern.test(path))
    .map((path) => join(data_dir, 'store', path))

test('what was inserted is there after a stop, and its token is still known', async () => {
  await insert('18446744073709551615')
  await reopenAfter(async () => {})
  await insert('18446744073709551615')
  expect(await read('t')).toEqual(['18446744073709551615'])
})

test('a block whose token was written when the kill came, but not its rows, is repaired by a retry', async () => {
  await insert(1)
  await insert(2)
  await reopenAfter(async () => {
    // What a kill between the two steps leaves: the last part has its temporary name still, in the table and the view.
    const parts = await paths(/\/all_2_2_\d$/)
    expect(parts).toHaveLength(2)
    for (const part of parts) await rename(part, join(dirname(part), `tmp_insert_${basename(part)}`))
  })
  expect([await read('t'), await read('doubled')]).toEqual([['1'], ['2']])
  await insert(2)
  await insert(1)
  await insert(2)
  expect([await read('t'), await read('doubled')]).toEqual([
    ['1', '2'],
    ['2', '4'],
  ])
})

test.each([['the table'], ['the view', 'doubled']])(
  'a block whose part was cut off in %s is repaired by a retry, and counts once in the other',
  async (_where, table = 't') => {
    await insert(1)
    await insert(2)
    const [part] = await clickhouse.query<{ path: string }>(
      `SELECT path FROM system.parts WHERE table = '${table}' AND name LIKE 'all_2_2_%'`,
    )
    await reopenAfter(() => truncate(join(part!.path, 'data.bin'), 1))
    expect(await read(table)).toHaveLength(1)
    await insert(2)
    await insert(1)
    expect([await read('t'), await read('doubled')]).toEqual([
      ['1', '2'],
      ['2', '4'],
    ])
  },
)

test('a block that was cut off is repaired by a retry, though an engine was killed while it opened, after a merge over the gap', async () => {
  for (const a of [1, 2, 3]) await insert(a)
  await reopenAfter(async () => {
    const parts = await paths(/\/all_2_2_0$/)
    for (const part of parts) await truncate(join(part, 'data.bin'), 1)
    const opening = `
      import { forgetOrphanTokens, keepFolders } from ${JSON.stringify(new URL('../../src/embedded/dedupe-logs.ts', import.meta.url).href)}
      import { Session } from 'chdb'
      const { folders } = await forgetOrphanTokens(${JSON.stringify(data_dir)})
      await keepFolders(${JSON.stringify(data_dir)}, folders)
      const session = new Session(${JSON.stringify(data_dir)})
      for (const table of ['t', 'doubled']) session.query('OPTIMIZE TABLE tributary.' + table + ' FINAL')
      process.kill(process.pid, 'SIGKILL')`
    const { signal } = spawnSync(process.execPath, ['--input-type=module', '--eval', opening], {
      cwd: import.meta.dirname,
      timeout: 60_000,
    })
    expect(signal).toBe('SIGKILL')
  })
  expect([await read('t'), await read('doubled')]).toEqual([
    ['1', '3'],
    ['2', '6'],
  ])
  for (const a of [1, 2, 3]) await insert(a)
  expect([await read('t'), await read('doubled')]).toEqual([
    ['1', '2', '3'],
    ['2', '4', '6'],
  ])
})

test('a stray file in the store keeps no engine from opening', async () => {
  await insert(1)
  await reopenAfter(() => appendFile(join(data_dir, 'store', '.nfs0001'), ''))
  expect(await read('t')).toEqual(['1'])
})

test('a block that is cut off where another was put aside before is repaired by a retry, too', async () => {
  await insert(1)
  await insert(2)
  const parts = await paths(/\/all_2_2_0$/)
  expect(parts).toHaveLength(2)
  await reopenAfter(async () => {
    for (const part of parts) {
      await truncate(join(part, 'data.bin'), 1)
      // The engine gave its number to a second block after it had put the first aside.
      await mkdir(join(dirname(part), 'detached', `broken-on-start_${basename(part)}`))
    }
  })
  await insert(2)
  await insert(1)
  expect([await read('t'), await read('doubled')]).toEqual([
    ['1', '2'],
    ['2', '4'],
  ])
})

test('more broken parts than the engine puts up with by default keep no table away', async () => {
  await clickhouse.command('SYSTEM STOP MERGES')
  for (let a = 1; a <= 102; a += 1) await insert(a)
  const parts = await paths(/\/all_(\d+)_\1_0$/)
  await reopenAfter(async () => {
    for (const part of parts.filter((path) => !path.endsWith('/all_1_1_0'))) await truncate(join(part, 'data.bin'), 1)
  })
  expect([await read('t'), await read('doubled')]).toEqual([['1'], ['2']])
})

test('no part is broken whose rows were merged into another, however many there are to load in the background', async () => {
  await clickhouse.command(
    'CREATE TABLE many (a UInt64) ENGINE = MergeTree ORDER BY a SETTINGS parts_to_delay_insert = 0',
  )
  await clickhouse.command('SYSTEM STOP MERGES')
  await clickhouse.command(
    'INSERT INTO many SELECT number FROM numbers(1000) SETTINGS max_block_size = 1, min_insert_block_size_rows = 1, max_threads = 1',
  )
  const [{ folder }] = (await clickhouse.query<{ folder: string }>(
    "SELECT data_paths[1] AS folder FROM system.tables WHERE name = 'many'",
  )) as [{ folder: string }]
  const parts = (await readdir(folder)).filter((name) => /^all_/.test(name))
  expect(parts.length).toBeGreaterThan(500)
  await clickhouse.command('SYSTEM START MERGES')
  await clickhouse.command('OPTIMIZE TABLE many FINAL')
  await reopenAfter(async () => {
    for (const part of parts.slice(0, 200)) await truncate(join(folder, part, 'checksums.txt'), 0)
  })
  expect(await findBrokenParts(clickhouse)).toEqual([])
  await reopenAfter(async () => {})
  expect(await findBrokenParts(clickhouse)).toEqual([])
  expect(await read('many')).toHaveLength(1000)
})

test('no engine opens whose deduplication log cannot be read', async () => {
  await insert(1)
  await clickhouse.close()
  const [log] = await paths(/\/deduplication_logs$/)
  await rename(log!, `${log!}-aside`)
  await appendFile(log!, '')
  await expect(openEmbeddedClickhouse({ data_dir })).rejects.toThrow('ENOTDIR')
  await rm(log!)
  await rename(`${log!}-aside`, log!)
  clickhouse = await openEmbeddedClickhouse({ data_dir })
})

test('tokens of blocks that were merged meanwhile stay known', async () => {
  for (const a of [1, 2, 3]) await insert(a)
  await clickhouse.command('OPTIMIZE TABLE t FINAL')
  await reopenAfter(async () => {
    for (const part of await paths(/\/all_(\d)_\1_\d$/)) await rm(part, { recursive: true })
    for (const log of await paths(/deduplication_log_\d+\.txt$/)) expect(await readFile(log, 'utf8')).not.toMatch(/^2/m)
  })
  for (const a of [1, 2, 3]) await insert(a)
  expect(await read('t')).toEqual(['1', '2', '3'])
})

test('half a line at the end of a log, which a kill left, spoils neither older tokens nor the next', async () => {
  await insert(1)
  await reopenAfter(async () => {
    for (const log of await paths(/deduplication_log_\d+\.txt$/)) await appendFile(log, '1\tall_9_9_0\tall_12')
  })
  await insert(1)
  await insert(2)
  await reopenAfter(async () => {})
  await insert(1)
  await insert(2)
  expect([await read('t'), await read('doubled')]).toEqual([
    ['1', '2'],
    ['2', '4'],
  ])
})

test('an engine that could not open leaves nothing open: the next one opens on another folder', async () => {
  await clickhouse.close()
  await rm(data_dir, { recursive: true })
  await mkdir(join(data_dir, 'metadata', 'tributary.sql.tmp'), { recursive: true }) // where the engine writes a file
  await expect(openEmbeddedClickhouse({ data_dir })).rejects.toThrow()
  await rm(data_dir, { recursive: true })
  data_dir = await mkdtemp(join(tmpdir(), 'tributary-reopen-'))
  clickhouse = await openEmbeddedClickhouse({ data_dir })
  expect(await clickhouse.query('SELECT 1 AS n')).toEqual([{ n: 1 }])
})
