import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startStandaloneProcess, waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest'

const metricsPage = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'metrics.md'), 'utf8')

let data_dir: string
beforeEach(() => {
  data_dir = mkdtempSync(join(tmpdir(), 'tributary-standalone-'))
})
afterEach(() => rmSync(data_dir, { recursive: true, force: true }))

const event = (install_uuid: string) => ({
  event_id: 'e-1',
  event_name: 'level_up',
  event_ts_ms: Date.now(),
  install_uuid,
})

const idsOfDemo = {
  APP_ID: expect.stringMatching(/^app_/),
  IOS_APP_ID: expect.stringMatching(/^app_/),
  LINK_ID: expect.stringMatching(/^[A-Za-z0-9]{12}$/),
  COMPANY_ID: expect.stringMatching(/^co_/),
}

it('keeps all data over a clean stop and a second start, shows the demo keys only once, and keeps demo.env true', async () => {
  const first = await startStandaloneProcess({ data_dir, from_nothing: true })
  const demo = first.demo()
  expect(demo).toMatchObject({ TRIBUTARY_URL: first.url, ...idsOfDemo })
  const headers = { authorization: `Bearer ${demo.SERVER_KEY}` }
  const sent = await fetch(`${first.url}/s2s/event`, { method: 'POST', headers, body: JSON.stringify(event('i-1')) })
  expect(sent.status).toBe(200)
  expect(first.output()).toContain(demo.SIGNING_SECRET)
  expect(await first.stop('SIGTERM')).toBe(0)

  const second = await startStandaloneProcess({ data_dir })
  expect(second.output()).not.toContain('SIGNING_SECRET')
  expect(second.url).not.toBe(first.url)
  expect(second.demo()).toEqual({ ...demo, TRIBUTARY_URL: second.url })
  expect(statSync(join(data_dir, 'demo.env')).mode & 0o077).toBe(0)
  await waitUntilWritten(second.url, data_dir)
  const report = await fetch(`${second.url}/api/v1/reports/events`, { headers })
  expect(await report.json()).toMatchObject({ rows: [{ event_name: 'level_up', events: 1, unique_installs: 1 }] })
  expect(await second.stop('SIGINT')).toBe(0)
})

it('keeps demo.env of a moved folder true, and commands refuse a folder and an address that do not belong together', async () => {
  const [before, moved] = [join(data_dir, 'before'), join(data_dir, 'moved here')]
  const first = await startStandaloneProcess({ data_dir: before })
  const demo = first.demo()
  expect(demo.TRIBUTARY_DATA_DIR).toBe(before)
  expect(await first.stop('SIGTERM')).toBe(0)
  execFileSync('cp', ['-a', before, moved])
  const [old, copy] = [
    await startStandaloneProcess({ data_dir: before }),
    await startStandaloneProcess({ data_dir: moved }),
  ]
  expect(copy.demo()).toEqual({ ...demo, TRIBUTARY_URL: copy.url, TRIBUTARY_DATA_DIR: `'${moved}'` })
  const command = join(import.meta.dirname, '..', '..', '..', 'packages', 'cli', 'bin', 'tributary.mjs')
  const tributary = (words: string[], url: string) => {
    const env = { PATH: process.env.PATH, TRIBUTARY_URL: url, TRIBUTARY_DATA_DIR: before }
    return spawnSync(process.execPath, [command, ...words, '--json'], { env, encoding: 'utf8' })
  }
  expect(JSON.parse(tributary(['doctor'], old.url).stdout)).toMatchObject({ ok: true })
  expect(tributary(['doctor'], copy.url).stdout).toContain('is not the service that started last on')
  const target = join(data_dir, 'backup')
  expect(JSON.parse(tributary(['backup', target], copy.url).stderr)).toMatchObject({ error: 'other_service' })
  expect(existsSync(target)).toBe(false)
  expect(tributary(['backup', target], old.url).status).toBe(0)
  await Promise.all([old.stop('SIGTERM'), copy.stop('SIGTERM')])
})

it('refuses a second process on the same data folder and says what to do', async () => {
  const first = await startStandaloneProcess({ data_dir })
  await expect(startStandaloneProcess({ data_dir })).rejects.toThrow(
    /in use by another Tributary process[\s\S]*TRIBUTARY_DATA_DIR/,
  )
  expect((await fetch(`${first.url}/ready`)).status).toBe(200)
  expect(await first.stop('SIGTERM')).toBe(0)
})

it('tells its health with every binding, its metrics, and keeps its secrets private', async () => {
  const standalone = await startStandaloneProcess({ data_dir })
  const health = await (await fetch(`${standalone.url}/health`)).json()
  const binding = { status: 'ok', latency_ms: expect.any(Number) }
  expect(health).toEqual({
    status: 'ok',
    bindings: {
      database: binding,
      object_storage: binding,
      key_value: binding,
      queues: binding,
      analytics: binding,
    },
  })
  const metrics = await (await fetch(`${standalone.url}/metrics`)).text()
  expect(metrics).toContain('process_cpu_user_seconds_total')
  const told = [...metrics.matchAll(/^# TYPE (tributary_\w+)/gm)].map(([, name]) => name)
  const documented = [...metricsPage.matchAll(/^\| `(tributary_\w+)`/gm)].map(([, name]) => name)
  expect(told.toSorted()).toEqual(documented.toSorted())
  for (const name of ['admin-token', 'master-key', 'demo.env']) {
    expect(statSync(join(data_dir, name)).mode & 0o077).toBe(0)
  }
  await standalone.stop('SIGTERM')
})

it('reports every wrong setting at once', async () => {
  const env = { TRIBUTARY_PORT: 'x', TRIBUTARY_LOG_LEVEL: 'loud', TRIBUTARY_MASTER_KEY: 'short', TRIBUTARY_PROT: '1' }
  await expect(startStandaloneProcess({ data_dir, env })).rejects.toThrow(
    /(?=[\s\S]*TRIBUTARY_PORT)(?=[\s\S]*TRIBUTARY_MASTER_KEY)(?=[\s\S]*TRIBUTARY_LOG_LEVEL)(?=[\s\S]*did you mean TRIBUTARY_PORT\?)/,
  )
})

it('the tributary command just works in the directory of a start, whatever its port and data folder', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'tributary second terminal-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  const standalone = await startStandaloneProcess({ data_dir: join(data_dir, "it's here"), cwd })
  const command = join(import.meta.dirname, '..', '..', '..', 'packages', 'cli', 'bin', 'tributary.mjs')
  const tributary = (words: string, env: Record<string, string> = {}, folder = cwd) => {
    const options = { cwd: folder, env: { PATH: process.env.PATH, ...env }, encoding: 'utf8' as const }
    return spawnSync(process.execPath, [command, ...words.split(' '), '--json'], options)
  }
  expect(JSON.parse(tributary('status').stdout)).toMatchObject({ ready: true })
  expect(JSON.parse(tributary('doctor').stdout)).toMatchObject({ ok: true })
  // From anywhere else with what the start wrote.
  const sourced = (words: string) => {
    const script = '. "./it\'s here/demo.env"; exec "$@"'
    return spawnSync('sh', ['-c', script, 'sh', process.execPath, command, ...words.split(' ')], {
      ...{ cwd: data_dir, env: { PATH: process.env.PATH }, encoding: 'utf8' },
    })
  }
  expect(sourced('company list').stdout).toContain('Demo')
  expect(JSON.parse(sourced('reports events --json').stdout)).toMatchObject({ rows: [] })
  // Settings win; a file that others may write is not believed.
  expect(tributary('status', { TRIBUTARY_URL: 'http://127.0.0.1:1' }).stderr).toContain('"unavailable"')
  chmodSync(join(cwd, '.tributary', 'start.json'), 0o666)
  expect(tributary('status').stderr).toContain('"no_admin_token"')
  await standalone.stop('SIGTERM')
})

it('shows metrics and the admin API to the networks of its operator alone, however a path is spelled', async () => {
  const env = { TRIBUTARY_TRUSTED_PROXIES: '127.0.0.1', TRIBUTARY_ADMIN_NETWORKS: '192.0.2.0/24' }
  const { url, stop } = await startStandaloneProcess({ data_dir, env })
  const token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
  const ask = async (path: string, ip: string) => {
    const headers = { 'x-forwarded-for': ip, authorization: `Bearer ${token}` }
    const answer = await fetch(url + path, { headers })
    await answer.arrayBuffer()
    return answer.status
  }
  for (const path of ['/metrics', '/%6detrics', '/admin/api/v1/companies', '/%61dmin/api/v1/companies']) {
    expect(await ask(path, '192.0.2.1')).toBe(200)
    expect(await ask(path, '198.51.100.1')).toBe(404)
  }
  expect(await ask('/health', '198.51.100.1')).toBe(200)
  await stop('SIGTERM')
})
