import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findKeptLeaks, findLeaks } from '../log-check/find-leaks.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')
const hex = (chars: number) => '0123456789abcdef'.repeat(8).slice(0, chars)
const password = 'very-long-passphrase-1'

const kinds = (line: string, secrets: string[] = []) => findLeaks('x', line, secrets).map(({ what }) => what)

describe('a leak is', () => {
  test.each([
    ['a server key', `{"key":"srv_${hex(48)}"}`],
    ['a signing secret, or a signature', `secret ${hex(64)}!`],
    ['an admin token', `token=${hex(48)}`],
    ['a key of 32 bytes', `"${Buffer.alloc(32, 7).toString('base64')}"`],
    ['a password in an address', 'at redis://user:hunter2@db:6379/0'],
    ['a bearer token', '"authorization":"Bearer abcdefgh12345"'],
    ['a receipt', '{"props":{"receipt":"MIIT"}}'],
    ['a receipt', '"{\\"receipt\\":\\"MIIT\\"}"'],
  ])('%s: %s', (what, line) => expect(kinds(line)).toEqual([what]))

  test('a secret that a program was started with', () => {
    expect(kinds(`failed with ${password}`, [password])).toEqual(['a secret of its settings'])
    expect(findLeaks('x', `failed with ${password}`, [password])[0]?.line).not.toContain(password)
  })

  test.each([
    ['the form of settings', 'http(s)://user:password@host:8123/db, shown as postgres://u:********@h/db'],
    ['redacted values', '{"receipt":"[redacted]","header":"Bearer [redacted]","key":"srv_[redacted]"}'],
    ['ids', `{"app_id":"app_${hex(20)}","request_id":"0b8f3c1e-3f3d-4dbd-a122-44809b415df7","url":"http://h:80/x"}`],
    ['short words', 'the password is short'],
  ])('not: %s', (_what, line) => expect(kinds(line, ['short'])).toEqual([]))
})

/** Starts a program as tests do: from a parent with the preload, with only PATH and its settings. Returns its kept logs. */
async function keptOf(program: string): Promise<ReturnType<typeof findKeptLeaks>> {
  const dir = mkdtempSync(join(tmpdir(), 'tributary-log-check-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const file = join(dir, 'program.ts')
  writeFileSync(file, program)
  const env = { PATH: process.env.PATH, TRIBUTARY_POSTGRES_URL: `postgres://user:${password}@db/x` }
  const start = `import { spawn } from 'node:child_process'
    spawn(process.execPath, [${JSON.stringify(file)}], { env: ${JSON.stringify(env)}, stdio: 'ignore' })`
  const preload = pathToFileURL(join(root, 'tools', 'log-check', 'keep-stderr.mjs')).href
  const NODE_OPTIONS = `--import=${preload}`
  const options = { cwd: root, env: { PATH: process.env.PATH, NODE_OPTIONS, KEEP_STDERR_IN: dir } }
  await run(process.execPath, ['--input-type=module', '--eval', start], options)
  return findKeptLeaks(dir)
}

const logger = (level: string) => `
  import { createLogger } from ${JSON.stringify(pathToFileURL(join(root, 'packages/service-kit/src/service/logger.ts')).href)}
  const logger = createLogger({ name: 'x', level: '${level}', format: 'json' })`

describe('the logs of programs that tests start', () => {
  test('are kept and searched, however a secret was written', async () => {
    const ways = [
      `${logger('info')}; logger.info({ what: '${password}' }, 'x')`,
      `process.stderr.write('${password}\\n')`,
      `console.error('${password}')`,
    ]
    for (const way of ways) {
      const { programs, leaks } = await keptOf(way)
      expect(programs).toBe(1)
      expect(leaks[0], way).toMatchObject({ what: 'a secret of its settings' })
    }
  })

  test('hold no secret from a field or an address', async () => {
    const { programs, leaks } = await keptOf(`${logger('info')}
      const err = new Error('at postgres://user:${password}@db/x')
      logger.error({ err, signing_secret: '${hex(64)}', deep: [{ props: { receipt: 'MIIT' } }] }, 'x')`)
    expect({ programs, leaks }).toEqual({ programs: 1, leaks: [] })
  })
})
