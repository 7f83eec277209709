import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type StandaloneProcess, startStandaloneProcess } from '@tributary/testing/standalone/standalone-process'
import { expect, it, onTestFinished } from 'vitest'

const root = join(import.meta.dirname, '..', '..')

async function sendSigned({ url, demo }: StandaloneProcess, secret?: string): Promise<number> {
  const { COMPANY_KEY, APP_KEY, SIGNING_SECRET = '' } = demo()
  const body = JSON.stringify({ events: [{ event_id: '1', event_name: 'level_up', install_uuid: randomUUID() }] })
  const headers = {
    'content-type': 'application/json',
    'x-service-company-key': COMPANY_KEY!,
    'x-service-app-key': APP_KEY!,
    'x-service-signature': createHmac('sha256', secret ?? SIGNING_SECRET)
      .update(body)
      .digest('hex'),
  }
  return (await fetch(`${url}/event`, { method: 'POST', headers, body })).status
}

/** What doctor prints, whatever it finds. */
function doctor(data_dir: string, url: string, more: NodeJS.ProcessEnv = {}): string {
  const env = { PATH: process.env.PATH, TRIBUTARY_DATA_DIR: data_dir, TRIBUTARY_URL: url, ...more }
  return spawnSync(process.execPath, ['packages/cli/src/main.ts', 'doctor'], { cwd: root, env, encoding: 'utf8' })
    .stdout
}

it('a data folder without its master key, or with another, does not start; with the right one it goes on, and so it does once the lost one is forgotten and apps have new secrets', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-secrets-'))
  onTestFinished(() => rmSync(data_dir, { recursive: true, force: true }))
  const file = join(data_dir, 'master-key')
  const first = await startStandaloneProcess({ data_dir })
  expect(await sendSigned(first)).toBe(200)
  await first.stop('SIGTERM')

  renameSync(file, `${file}.copy`)
  await expect(startStandaloneProcess({ data_dir })).rejects.toThrow(
    /ended with 1 before it was ready:\n\S+\/master-key is missing, [^\n]+\n/,
  )
  writeFileSync(file, randomBytes(32).toString('base64'), { mode: 0o600 })
  await expect(startStandaloneProcess({ data_dir })).rejects.toThrow(
    /ended with 1 before it was ready:\nThe secrets in PostgreSQL were not made with [^\n]+\n/,
  )
  renameSync(`${file}.copy`, file)
  const again = await startStandaloneProcess({ data_dir })
  expect(await sendSigned(again)).toBe(200)
  const { SERVER_KEY } = again.demo()
  expect(doctor(data_dir, again.url)).toContain('ok    master key: ')
  renameSync(file, `${file}.copy`)
  expect(doctor(data_dir, again.url)).toMatch(/service: master_key_file: \S+ is missing\.\n/)
  renameSync(`${file}.copy`, file)
  await again.stop('SIGTERM')

  writeFileSync(`${file}.copy`, randomBytes(32).toString('base64'), { mode: 0o600 })
  renameSync(file, `${file}.right`)
  renameSync(`${file}.copy`, file)
  expect(doctor(data_dir, again.url)).toMatch(
    /master key: \S+\/master-key, id [0-9a-f]{8}; the secrets need the key with id [0-9a-f]{8}\n/,
  )
  writeFileSync(file, '', { mode: 0o600 })
  const tributary = (words: string, more: NodeJS.ProcessEnv = {}) => {
    const env = { PATH: process.env.PATH, TRIBUTARY_DATA_DIR: data_dir, ...more }
    const args = ['packages/cli/src/main.ts', ...words.split(' '), '--json']
    return JSON.parse(execFileSync(process.execPath, args, { cwd: root, env, encoding: 'utf8' }))
  }
  expect(tributary('master-key forget --yes')).toEqual({ forgotten: expect.stringMatching(/^[0-9a-f]{8}$/) })
  await expect(startStandaloneProcess({ data_dir })).rejects.toThrow(/holds no master key/)
  const forget = ['packages/cli/src/main.ts', 'master-key', 'forget', '--yes']
  const env = { PATH: process.env.PATH, TRIBUTARY_DATA_DIR: data_dir }
  const said = execFileSync(process.execPath, forget, { cwd: root, env, encoding: 'utf8' })
  execFileSync('sh', ['-c', /rm \S+$/m.exec(said)![0]])
  const last = await startStandaloneProcess({ data_dir })
  expect(await sendSigned(last)).toBe(503)
  expect(last.output()).toMatch(/signing secrets of app_\w+, app_\w+ need master key [0-9a-f]{8}/)
  expect(doctor(data_dir, last.url)).toMatch(
    /secrets_unreadable: .* \/event answers 503 .*\n.*npx tributary app rotate-secret/,
  )
  const rotate = `app rotate-secret ${last.demo().APP_ID}`
  const { signing_secret } = tributary(rotate, { TRIBUTARY_URL: last.url })
  await expect.poll(() => sendSigned(last, signing_secret), { timeout: 180_000 }).toBe(200)
  const headers = { authorization: `Bearer ${SERVER_KEY}` }
  expect((await fetch(`${last.url}/api/v1/reports/events`, { headers })).status).toBe(200)
  await last.stop('SIGTERM')
})

it('the master key is rotated while events come in: the old key may go afterwards, and is refused', async () => {
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-secrets-'))
  onTestFinished(() => rmSync(data_dir, { recursive: true, force: true }))
  const file = join(data_dir, 'master-key')
  const before = await startStandaloneProcess({ data_dir })
  await before.stop('SIGTERM')

  const old = readFileSync(file, 'utf8').trim()
  writeFileSync(file, randomBytes(32).toString('base64'), { mode: 0o600 })
  expect(doctor(data_dir, before.url)).toMatch(/FAIL {2}master key: .*\n.*TRIBUTARY_MASTER_KEY_OLD/)
  expect(doctor(data_dir, before.url)).not.toContain('forget')
  expect(doctor(data_dir, before.url, { TRIBUTARY_MASTER_KEY_OLD: old })).toMatch(
    /ok {4}master key: .*TRIBUTARY_MASTER_KEY_OLD is needed until npx tributary key rotate-master has run/,
  )
  const both = await startStandaloneProcess({ data_dir, env: { TRIBUTARY_MASTER_KEY_OLD: old } })
  expect(await sendSigned(both)).toBe(200)
  const rotate = ['packages/cli/src/main.ts', 'key', 'rotate-master', '--json']
  const env = { PATH: process.env.PATH, TRIBUTARY_DATA_DIR: data_dir, TRIBUTARY_URL: both.url }
  const { stdout } = await promisify(execFile)(process.execPath, rotate, { cwd: root, env })
  expect(JSON.parse(stdout)).toEqual({ key_id: expect.any(String), rotated: expect.any(Number), unreadable: 0 })
  expect(await sendSigned(both)).toBe(200)
  await both.stop('SIGTERM')

  await expect(startStandaloneProcess({ data_dir, env: { TRIBUTARY_MASTER_KEY: old } })).rejects.toThrow(
    /The secrets in PostgreSQL were not made with/,
  )
  const alone = await startStandaloneProcess({ data_dir })
  expect(await sendSigned(alone)).toBe(200)
  await alone.stop('SIGTERM')
})
