import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { openEmbeddedPostgres } from '../src/embedded/embedded-postgres.ts'
import { openPostgres } from '../src/postgres.ts'

const logger = pino({ level: 'silent' })

async function dataFolder() {
  const data_dir = await mkdtemp(join(tmpdir(), 'tributary-embedded-'))
  onTestFinished(() => rm(data_dir, { recursive: true, force: true }))
  return data_dir
}

async function ask(url: string, text: string): Promise<Record<string, unknown>[]> {
  const pool = openPostgres({ url, pool_max: 1, statement_timeout_ms: 5_000, connect_timeout_ms: 5_000 })
  try {
    return (await pool.query(text)).rows
  } finally {
    await pool.end()
  }
}

async function until(what: string, holds: () => Promise<boolean>) {
  const deadline = performance.now() + 180_000
  while (!(await holds().catch(() => false))) {
    if (performance.now() > deadline) throw new Error(`never came: ${what}`)
    await pause(20)
  }
}

const postmasterPid = async (data_dir: string) =>
  Number((await readFile(join(data_dir, 'cluster', 'postmaster.pid'), 'utf8')).split('\n')[0])

/** A process of its own that opens the server, writes a row, prints its address, and waits to be killed. */
async function openInChild(data_dir: string): Promise<{ child: ChildProcess; url: string }> {
  const program = `
    import { pino } from 'pino'
    import { openEmbeddedPostgres } from ${JSON.stringify(join(import.meta.dirname, '../src/embedded/embedded-postgres.ts'))}
    const { url } = await openEmbeddedPostgres({ data_dir: process.argv[1], logger: pino({ level: 'silent' }) })
    console.info(url)
    setInterval(() => {}, 1000)`
  const args = ['--input-type=module-typescript', '--eval', program, data_dir]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], cwd: import.meta.dirname })
  const [line] = await once(child.stdout!, 'data')
  return { child, url: String(line).trim() }
}

test('a password file that somebody else could have written is not believed', async () => {
  const data_dir = await dataFolder()
  await writeFile(join(data_dir, 'password'), 'planted\n', { mode: 0o666 })
  await chmod(join(data_dir, 'password'), 0o666)
  await expect(openEmbeddedPostgres({ data_dir, logger })).rejects.toThrow(/password is open to other users/)
  await chmod(join(data_dir, 'password'), 0o600)
  if (process.getuid?.() !== 0) return
  await chown(join(data_dir, 'password'), 65_533, 65_533)
  await expect(openEmbeddedPostgres({ data_dir, logger })).rejects.toThrow(/password belongs to user 65533/)
})

test('a second start finds the data, durable and checksummed', async () => {
  const data_dir = await dataFolder()
  const first = await openEmbeddedPostgres({ data_dir, logger })
  await ask(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer')
  await first.close()
  const second = await openEmbeddedPostgres({ data_dir, logger })
  expect(await ask(second.url, 'SELECT * FROM kept')).toEqual([{ answer: 42 }])
  expect(
    await ask(
      second.url,
      `SELECT current_setting('fsync') AS fsync, current_setting('data_checksums') AS checksums,
              current_setting('listen_addresses') AS listens, current_setting('server_encoding') AS encoding`,
    ),
  ).toEqual([{ fsync: 'on', checksums: 'on', listens: '127.0.0.1', encoding: 'UTF8' }])
  await second.close()
})

test('the password is random, asked for, and readable by its owner only', async () => {
  const data_dir = await dataFolder()
  const server = await openEmbeddedPostgres({ data_dir, logger })
  expect((await stat(join(data_dir, 'password'))).mode & 0o777).toBe(0o600)
  expect(new URL(server.url).password).toMatch(/^[0-9a-f]{48}$/)
  const wrong = Object.assign(new URL(server.url), { password: 'guess' }).href
  await expect(ask(wrong, 'SELECT 1')).rejects.toThrow('password authentication failed')
  await server.close()
})

test('what a killed process left running is stopped, and what it had committed is there', async () => {
  const data_dir = await dataFolder()
  const { child, url } = await openInChild(data_dir)
  await ask(url, 'CREATE TABLE kept AS SELECT 42 AS answer')
  const leftover = await postmasterPid(data_dir)
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(process.kill(leftover, 0)).toBe(true)

  const server = await openEmbeddedPostgres({ data_dir, logger })
  expect(await postmasterPid(data_dir)).not.toBe(leftover)
  expect(await ask(server.url, 'SELECT * FROM kept')).toEqual([{ answer: 42 }])
  await server.close()
})

test('a stale pid file that names a process of somebody else harms nobody', async () => {
  const data_dir = await dataFolder()
  const { child } = await openInChild(data_dir)
  const leftover = await postmasterPid(data_dir)
  // The server dies as in a power cut, its pid file stays; then its pid belongs to a bystander.
  process.kill(leftover, 'SIGKILL')
  child.kill('SIGKILL')
  await once(child, 'exit')
  const bystander = spawn('sleep', ['60'])
  onTestFinished(() => void bystander.kill())
  const file = join(data_dir, 'cluster', 'postmaster.pid')
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace(/^\d+/, String(bystander.pid)))

  const server = await openEmbeddedPostgres({ data_dir, logger })
  expect(bystander.exitCode).toBeNull()
  expect(await ask(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  await server.close()
})

test('a server that dies comes back on the same address', async () => {
  const data_dir = await dataFolder()
  const server = await openEmbeddedPostgres({ data_dir, logger })
  await ask(server.url, 'CREATE TABLE kept AS SELECT 42 AS answer')
  const pid = await postmasterPid(data_dir)
  process.kill(pid, 'SIGKILL')
  await until('the server is back', async () => (await ask(server.url, 'SELECT * FROM kept'))[0]?.answer === 42)
  expect(await postmasterPid(data_dir)).not.toBe(pid)
  await server.close()
})

test('a half-made cluster of a killed first start is made anew', async () => {
  const data_dir = await dataFolder()
  await mkdir(join(data_dir, 'cluster.new'))
  await writeFile(join(data_dir, 'cluster.new', 'PG_VERSION'), '18\n')
  const server = await openEmbeddedPostgres({ data_dir, logger })
  expect(await ask(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  await server.close()
})
