import { randomBytes } from 'node:crypto'
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { emptyFolder, tributary } from '../../run-tributary.ts'
import { ready, service, token } from '../fake-admin-api.ts'

describe('tributary doctor', () => {
  it('passes all checks of a healthy service', async () => {
    const env = await service({
      'GET /health': () => ({ status: 200, body: { status: 'ok', bindings: ready.bindings } }),
    })
    const run = await tributary(['doctor', '--json'], { ...env, TRIBUTARY_DATA_DIR: await emptyFolder() })
    expect({ code: run.code, ...JSON.parse(run.stdout) }).toMatchObject({ code: 0, ok: true })
  })

  it('names each failed check and its fix, and ends with 1', async () => {
    const env = await service({
      'GET /health': () => ({
        status: 200,
        headers: { date: new Date(0).toUTCString() },
        body: {
          status: 'degraded',
          bindings: { queues: { status: 'down', latency_ms: 1 } },
          troubles: [{ code: 'disk_full', message: 'No MiB are free.' }],
        },
      }),
    })
    const folder = await emptyFolder()
    await mkdir(join(folder, 'data'))
    await writeFile(join(folder, 'data', 'admin-token'), token)
    await chmod(join(folder, 'data', 'admin-token'), 0o644)
    const run = await tributary(['doctor', '--json'], { ...env, TRIBUTARY_DATA_DIR: join(folder, 'data') })
    const { ok, checks } = JSON.parse(run.stdout) as {
      ok: boolean
      checks: { name: string; ok: boolean; fix: string }[]
    }
    const failed = checks.filter((check) => !check.ok)
    expect({ code: run.code, ok }).toEqual({ code: 1, ok: false })
    expect(failed.map(({ name }) => name)).toEqual(['admin token', 'service: queues', 'service: disk_full', 'clock'])
    expect(failed.every(({ fix }) => fix.length > 0)).toBe(true)
    expect(JSON.parse(run.stderr)).toMatchObject({ error: 'unhealthy' })
  })

  it('fails for what its service knows to need attention: a healthy process may miss events', async () => {
    const item = (code: string, message: string, fix: string) => ({
      ...{ code, company_id: null, app_id: null, since_ms: null, message, fix, docs: '/docs/operations' },
    })
    const differ = item(
      'stores_differ',
      '1 hours differ in events_raw_v1.',
      'npx tributary reconcile --since 2026-11-29',
    )
    const letters = item('dead_letters', '2 dead letters wait.', 'npx tributary dead retry')
    const shown_before = item('process_trouble', 'disk_low: little is free.', 'npx tributary doctor')
    const find = async (answer: { status: number; body: object }) => {
      const env = await service({
        'GET /health': () => ({ status: 200, body: { status: 'ok', bindings: ready.bindings } }),
        'GET /admin/api/v1/attention': () => answer,
      })
      const run = await tributary(['doctor', '--json'], { ...env, TRIBUTARY_DATA_DIR: await emptyFolder() })
      const { checks } = JSON.parse(run.stdout) as {
        checks: { name: string; ok: boolean; found: string; fix: string }[]
      }
      return checks.filter(({ ok }) => !ok).map(({ name, found, fix }) => [name, found, fix])
    }
    const items = [differ, letters, shown_before]
    expect(await find({ status: 200, body: { items, unchecked: [] } })).toEqual([
      ['stores_differ', differ.message, differ.fix],
      ['dead_letters', letters.message, letters.fix],
    ])
    expect(await find({ status: 200, body: { items: [], unchecked: ['dead_letters', 'app_silent'] } })).toEqual([
      ['dead_letters', expect.stringContaining('could not be looked at'), expect.stringContaining('log')],
    ])
    expect(await find({ status: 200, body: { items: [], unchecked: [] } })).toEqual([])
    expect(await find({ status: 503, body: { error: 'unavailable', message: 'away' } })).toEqual([
      ['attention', expect.any(String), expect.any(String)],
    ])
    const newer = { ...differ, code: 'of_tomorrow' }
    expect(await find({ status: 200, body: { items: [newer], unchecked: [] } })).toEqual([
      ['attention', expect.any(String), expect.stringContaining('version of the service')],
    ])
  })

  it('names a service that does not answer in time, and makes every other check', async () => {
    const never = () => new Promise<never>(() => {})
    const slow = await service({
      'GET /health': () => ({ status: 200, body: { status: 'ok', bindings: ready.bindings } }),
      'GET /admin/api/v1/attention': never,
    })
    const other = await tributary(['doctor', '--json'], { ...slow, TRIBUTARY_DATA_DIR: await emptyFolder() })
    expect(JSON.parse(other.stdout).checks.filter(({ ok }: { ok: boolean }) => !ok)).toMatchObject([
      { name: 'attention', found: expect.stringContaining('timed out after 8 seconds') },
    ])
    const env = await service({ 'GET /health': never, 'GET /admin/api/v1/status': never })
    const run = await tributary(['doctor', '--json'], { ...env, TRIBUTARY_DATA_DIR: await emptyFolder() })
    const { checks } = JSON.parse(run.stdout) as { checks: { name: string; ok: boolean; found: string }[] }
    expect(checks.filter(({ ok }) => !ok)).toMatchObject([
      { name: 'service', found: expect.stringContaining('timed out after 8 seconds') },
    ])
    expect(checks.map(({ name }) => name)).toContain('node')
  })

  it('fails when the admin API is hidden from this machine, or belongs to another data folder', async () => {
    const admin = (status: number, body: object) => ({
      'GET /health': () => ({ status: 200, body: { status: 'ok', bindings: {} } }),
      'GET /admin/api/v1/status': () => ({ status, body }),
    })
    const folder = await emptyFolder()
    const start = { url: 'http://127.0.0.1:1', data_dir: folder, instance: 'ours' }
    await writeFile(join(folder, 'start.json'), JSON.stringify(start), { mode: 0o600 })
    const find = async (status: number, body: object) => {
      const env = await service(admin(status, body))
      const run = await tributary(['doctor', '--json'], { ...env, TRIBUTARY_DATA_DIR: folder })
      const { checks } = JSON.parse(run.stdout) as { checks: { name: string; ok: boolean; fix: string | null }[] }
      const { ok, fix } = checks.find(({ name }) => name === 'admin API')!
      return [ok, fix]
    }
    expect(await find(200, { ...ready, instance: 'ours' })).toEqual([true, null])
    expect(await find(200, { ...ready, instance: 'other' })).toEqual([false, expect.stringContaining('demo.env')])
    const fenced = [false, expect.stringContaining('TRIBUTARY_ADMIN_NETWORKS')]
    expect(await find(404, { error: 'not_found' })).toEqual(fenced)
    const env = await service(admin(404, { error: 'not_found' }))
    expect((await tributary(['status'], env)).stderr).toContain('TRIBUTARY_ADMIN_NETWORKS')
  })

  it('names the address of the last start, and so does any command, when the environment has another one', async () => {
    const away = 'http://127.0.0.1:9'
    const folder = await emptyFolder()
    const env = { TRIBUTARY_URL: away, TRIBUTARY_DATA_DIR: folder, TRIBUTARY_ADMIN_TOKEN: token }
    const start = { url: 'http://127.0.0.1:8099', data_dir: folder, instance: 'ours' }
    await writeFile(join(folder, 'start.json'), JSON.stringify(start), { mode: 0o600 })
    const words = `TRIBUTARY_URL of the environment is ${away}, but the last start on ${folder} answers at ${start.url}`
    expect((await tributary(['doctor'], env)).stdout).toContain(words)
    expect((await tributary(['company', 'list'], env)).stderr).toContain(words)
    const same = { ...env, TRIBUTARY_URL: `${start.url}/` }
    expect((await tributary(['company', 'list'], same)).stderr).toMatch(/Is the service running\?\n$/)
    const other = await service({
      'GET /admin/api/v1/companies': () => ({ status: 401, body: { error: 'invalid_admin_token' } }),
    })
    expect((await tributary(['company', 'list'], { ...env, ...other })).stderr).toContain(start.url)
  })

  it('prints no text of a service that a terminal would take for an order', async () => {
    const env = await service({
      'GET /health': () => ({
        status: 200,
        body: { status: 'degraded', bindings: {}, troubles: [{ code: 'a', message: 'b\u001b[2J', fix: 'c\u202e' }] },
      }),
    })
    const run = await tributary(['doctor'], { ...env, TRIBUTARY_DATA_DIR: await emptyFolder() })
    expect(run.stdout).toContain('b?[2J\n      c?\n')
  })

  it('shows the fix of a trouble, also for services of --service', async () => {
    const trouble = { code: 'tables_lack_rows', message: 'Partition 3 lacks rows.', fix: 'npx tributary rebuild' }
    const env = await service({
      'GET /health': () => ({ status: 200, body: { status: 'ok', bindings: {} } }),
    })
    const writer = await service({
      'GET /health': () => ({ status: 200, body: { status: 'degraded', bindings: {}, troubles: [trouble] } }),
    })
    const folder = { TRIBUTARY_DATA_DIR: await emptyFolder() }
    const run = await tributary(['doctor', '--service', `${writer.TRIBUTARY_URL}/`], { ...env, ...folder })
    const name = `service ${writer.TRIBUTARY_URL}: tables_lack_rows`
    expect(run.stdout).toContain(`FAIL  ${name}: Partition 3 lacks rows.\n      npx tributary rebuild\n`)
    expect([run.code, run.stderr]).toEqual([1, `unhealthy: Failed: ${name}.\n`])
    expect((await tributary(['doctor', '--service', 'writer'], { ...env, ...folder })).code).toBe(2)
  })

  it('checks that the master key exists, is whole and private', async () => {
    const env = await service({
      'GET /health': () => ({ status: 200, body: { status: 'ok', bindings: {} } }),
    })
    const folder = await emptyFolder()
    const file = join(folder, 'master-key')
    const find = async (more: Record<string, string> = {}) => {
      const run = await tributary(['doctor', '--json'], { ...env, TRIBUTARY_DATA_DIR: folder, ...more })
      const { checks } = JSON.parse(run.stdout) as { checks: { name: string; ok: boolean; found: string }[] }
      const { ok, found } = checks.find(({ name }) => name === 'master key')!
      return [ok, found]
    }
    expect(await find()).toEqual([true, expect.stringContaining('made by the first npm start')])
    await writeFile(file, randomBytes(32).toString('base64'), { mode: 0o600 })
    expect(await find()).toEqual([true, expect.stringMatching(/master-key, id [0-9a-f]{8}; no secret needs it yet$/)])
    await chmod(file, 0o644)
    expect(await find()).toEqual([false, expect.stringContaining('open to others (mode 644)')])
    await writeFile(file, 'half a key')
    await chmod(file, 0o600)
    expect(await find()).toEqual([false, expect.stringContaining('holds no master key (32 bytes in base64)')])
    await rm(file)
    await mkdir(join(folder, 'postgres', 'cluster'), { recursive: true })
    expect(await find()).toEqual([false, expect.stringContaining('master-key is missing')])
    expect(await find({ TRIBUTARY_MASTER_KEY: 'short' })).toEqual([
      false,
      expect.stringContaining('TRIBUTARY_MASTER_KEY'),
    ])
  })
})
