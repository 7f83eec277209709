import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { type CopyFolder, copyCluster } from '../src/embedded/copy-cluster.ts'
import { openEmbeddedPostgres } from '../src/embedded/embedded-postgres.ts'
import { openPostgres } from '../src/postgres.ts'

const logger = pino({ level: 'silent' })
const run = promisify(execFile)

/** Copies with owners, as the command of a backup does. */
const copy: CopyFolder = async (from, to, skip) => {
  await mkdir(to, { recursive: true })
  await run('cp', ['-a', `${from}/.`, to])
  for (const one of await readdir(to, { recursive: true, withFileTypes: true })) {
    const path = join(one.parentPath, one.name)
    if (skip(relative(to, path))) await rm(path, { recursive: true, force: true })
  }
}

async function query(url: string, text: string) {
  const pool = openPostgres({ url, pool_max: 1, statement_timeout_ms: 60_000, connect_timeout_ms: 5000 })
  try {
    return (await pool.query(text)).rows
  } finally {
    await pool.end()
  }
}

test.each([
  ['closed to other users', 0o700],
  ['that other users may enter, so that root lends the server another user', 0o711],
])('a copy of a running cluster starts, in a folder %s', async (_, mode) => {
  // The folder of a run of tests is closed to other users.
  const parent = mode === 0o711 ? '/tmp' : tmpdir()
  const folder = await mkdtemp(join(parent, 'tributary-copied-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await chmod(folder, mode)
  const [data_dir, copied_dir] = [join(folder, 'running'), join(folder, 'copied')]
  const running = await openEmbeddedPostgres({ data_dir, logger })
  try {
    await query(running.url, 'CREATE TABLE kept AS SELECT 42 AS answer')
    await copyCluster(data_dir, copied_dir, copy)
  } finally {
    await running.close()
  }
  const copied = await openEmbeddedPostgres({ data_dir: copied_dir, logger })
  try {
    expect(await query(copied.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }])
  } finally {
    await copied.close()
  }
})
