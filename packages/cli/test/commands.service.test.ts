import { randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lockDataDir } from '@tributary/service-kit/service/data-dir-lock'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Received, type Reply, startService } from './fake-service.ts'
import { fileWith, tributary } from './run-tributary.ts'

const token = 'a-token-of-the-admin-of-this-test'
const company = {
  company_id: 'co_1',
  company_key: 'co_live_1',
  name: 'Air\u001b[31m line',
  plan: 'free',
  monthly_quota: 1_000_000,
  status: 'active',
  created_at_ms: 5,
}
const idle = { name: 'event-writer', topic: 'events.accepted.v1', lag: 0, oldest_unwritten_ms: null }
const ready = { ready: true, consumers: [idle], bindings: { database: { status: 'ok', latency_ms: 1 } } }

/** What every test has that does not say otherwise. */
const well: Record<string, (request: Received) => Reply> = {
  'GET /admin/api/v1/status': () => ({ status: 200, body: ready }),
}

async function service(routes: Record<string, (request: Received) => Reply>) {
  const started = await startService((request) => {
    const route = { ...well, ...routes }[`${request.method} ${request.path}`]
    if (request.path.startsWith('/admin') && request.headers.authorization !== `Bearer ${token}`) {
      return { status: 401, body: { error: 'invalid_admin_token' } }
    }
    return route?.(request) ?? { status: 404, body: { error: 'not_found' } }
  })
  onTestFinished(() => started.close())
  return { TRIBUTARY_URL: started.url, TRIBUTARY_ADMIN_TOKEN: token }
}

const sent = ({ body }: Received) => JSON.parse(body.toString())

async function emptyFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-cli-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

describe('tributary company, app, key', () => {
  it('answers with --json exactly what the admin API says', async () => {
    const created = { company_id: 'co_1', company_key: 'co_live_1', plan: 'growth', monthly_quota: null }
    const app = { app_id: 'app_1', app_key: 'app_live_1', signing_secret: 's' }
    const key = { key_id: 'key_1', key: 'srv_1', label: 'billing', allowed_events: ['purchase', 'refund'] }
    const listed = {
      key_id: 'key_1',
      label: 'billing',
      allowed_events: [],
      scopes: ['reports:read'],
      display: 'srv_1a2b...9f8e',
      status: 'active',
      created_at_ms: 5,
    }
    const appNow = {
      ...{ app_id: 'app_1', company_id: 'co_1', app_key: 'app_live_1', name: 'A', platform: 'ios', bundle_id: null },
      ...{ store_id: '1', provider_token: null, created_at_ms: 5, old_secrets_end_ms: [] },
    }
    const asked: unknown[] = []
    const take = (body: unknown) => (request: Received) => {
      asked.push(sent(request))
      return { status: 201, body }
    }
    const env = await service({
      'POST /admin/api/v1/companies': take(created),
      'GET /admin/api/v1/companies': () => ({ status: 200, body: { companies: [company] } }),
      'GET /admin/api/v1/companies/co_1': () => ({ status: 200, body: company }),
      'PATCH /admin/api/v1/companies/co_1': take({ ...company, plan: 'scale' }),
      'POST /admin/api/v1/companies/co_1/suspend': take({ company_id: 'co_1', status: 'suspended' }),
      'POST /admin/api/v1/companies/co_1/reinstate': take({ company_id: 'co_1', status: 'active' }),
      'POST /admin/api/v1/apps': take(app),
      'GET /admin/api/v1/apps?company_id=co_1': () => ({ status: 200, body: { apps: [appNow] } }),
      'PATCH /admin/api/v1/apps/app_1': take(appNow),
      'POST /admin/api/v1/apps/app_1/rotate-secret': take({ ...appNow, signing_secret: 's2' }),
      'POST /admin/api/v1/keys': take(key),
      'GET /admin/api/v1/keys?app_id=app_1': () => ({ status: 200, body: { keys: [listed] } }),
      'POST /admin/api/v1/keys/key_1/revoke': take({ key_id: 'key_1', status: 'revoked' }),
      'POST /admin/api/v1/master-key/rotate': take({ key_id: '1a2b3c4d', rotated: 2, unreadable: 0 }),
    })
    const answers: unknown[] = []
    for (const words of [
      'company create --name Air --plan growth --quota 5',
      'company list',
      'company show co_1',
      'company set co_1 --plan scale --quota 7',
      'company suspend co_1',
      'company reinstate co_1',
      'app create --company co_1 --name A --platform ios --bundle-id b --store-id 1 --provider-token t',
      'app list --company co_1',
      'app set app_1 --name A --bundle-id b --store-id 1 --provider-token t',
      'app rotate-secret app_1',
      'app rotate-secret app_1 --overlap-hours 0',
      'key create --app app_1 --label billing --allow purchase,refund',
      'key create --app app_1 --label reader --scope reports:read,events:write --scope reports:read',
      'key list --app app_1',
      'key revoke key_1',
      'key rotate-master',
    ]) {
      const run = await tributary([...words.split(' '), '--json'], env)
      expect(run).toMatchObject({ code: 0, stderr: '' })
      answers.push(JSON.parse(run.stdout))
    }
    expect(answers).toEqual([
      created,
      { companies: [company] },
      company,
      { ...company, plan: 'scale' },
      { company_id: 'co_1', status: 'suspended' },
      { company_id: 'co_1', status: 'active' },
      app,
      { apps: [appNow] },
      appNow,
      { ...appNow, signing_secret: 's2' },
      { ...appNow, signing_secret: 's2' },
      key,
      key,
      { keys: [listed] },
      { key_id: 'key_1', status: 'revoked' },
      { key_id: '1a2b3c4d', rotated: 2, unreadable: 0 },
    ])
    expect(asked.filter((body) => Object.keys(body as object).length > 0)).toEqual([
      { name: 'Air', plan: 'growth', monthly_quota: 5 },
      { plan: 'scale', monthly_quota: 7 },
      { company_id: 'co_1', name: 'A', platform: 'ios', bundle_id: 'b', store_id: '1', provider_token: 't' },
      { name: 'A', bundle_id: 'b', store_id: '1', provider_token: 't' },
      { overlap_hours: 24 },
      { overlap_hours: 0 },
      { app_id: 'app_1', label: 'billing', allowed_events: ['purchase', 'refund'] },
      { app_id: 'app_1', label: 'reader', allowed_events: [], scopes: ['reports:read', 'events:write'] },
    ])
  })

  it('lists dead letters and retries them, all or those with a reason, and says what stays', async () => {
    const topic = 'events.accepted.v1'
    const from_ms = Date.UTC(2026, 0, 2)
    const dead = [
      { topic, reason: 'row_refused', count: 3, first_ms: from_ms, last_ms: from_ms + 1 },
      { topic, reason: 'too_large', count: 1, first_ms: from_ms, last_ms: from_ms },
    ]
    const asked: unknown[] = []
    const env = await service({
      'GET /admin/api/v1/dead-letters': () => ({ status: 200, body: { dead } }),
      [`GET /admin/api/v1/dead-letters?topic=${topic}`]: () => ({ status: 200, body: { dead: [] } }),
      'POST /admin/api/v1/dead-letters/retry': (request) => {
        asked.push(sent(request))
        return { status: 200, body: asked.length === 1 ? { retried: 3, too_large: 1 } : { retried: 3 } }
      },
    })
    const run = async (words: string) => (await tributary(words.split(' '), env)).stdout
    expect(JSON.parse(await run('dead list --json'))).toEqual({ dead })
    expect(JSON.parse(await run(`dead list --topic ${topic} --json`))).toEqual({ dead: [] })
    expect(await run('dead list')).toContain(`${topic}\trow_refused\t3\t2026-01-02T00:00:00.000Z`)
    expect(await run('dead retry')).toBe('3 records went back to their topics; 1 too large to be retried stays\n')
    expect(await run(`dead retry --topic ${topic} --reason row_refused`)).toBe('3 records went back to their topics\n')
    expect(JSON.parse(await run('dead retry --json'))).toEqual({ retried: 3 })
    expect(asked).toEqual([{}, { topic, reason: 'row_refused' }, {}])
  })

  it('sends a file of exchange rates as it is, and says what it held or what is wrong with it', async () => {
    const loaded = { days: 2, currencies: 1, rates: 2, from: '2026-01-29', to: '2026-01-30' }
    const file = 'Date,USD,\n2026-01-30,1.1919,\n2026-01-29,1.1960,\n'
    const env = await service({
      'POST /admin/api/v1/fx-rates': ({ body, headers }) =>
        headers['content-type'] === 'text/csv' && body.toString() === file
          ? { status: 200, body: loaded }
          : { status: 400, body: { error: 'bad_csv', message: 'Line 1 must be the header: Date, then currencies.' } },
    })
    const path = await fileWith('eurofxref-hist.csv', file)
    const run = await tributary(['fx', 'load', path, '--json'], env)
    expect(run).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(run.stdout)).toEqual(loaded)
    expect((await tributary(['fx', 'load', path], env)).stdout).toBe(
      '2 rates of 1 currencies on 2 days, 2026-01-29 to 2026-01-30\n',
    )
    const wrong = await tributary(['fx', 'load', await fileWith('other.csv', 'a,b\n'), '--json'], env)
    expect(wrong).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(wrong.stderr)).toEqual({
      error: 'bad_csv',
      message: 'Line 1 must be the header: Date, then currencies.',
    })
    const missing = await tributary(['fx', 'load', `${path}.no`, '--json'], env)
    expect(JSON.parse(missing.stderr).error).toBe('file_not_found')
  })

  it('prints names without their control characters', async () => {
    const env = await service({
      'GET /admin/api/v1/companies': () => ({ status: 200, body: { companies: [company] } }),
    })
    const run = await tributary(['company', 'list'], env)
    expect(run.stdout).toContain('Air?[31m line')
  })

  it('hands on the code of the service and takes the token from the data folder', async () => {
    const env = await service({
      'POST /admin/api/v1/companies/co_9/suspend': () => ({ status: 404, body: { error: 'unknown_company' } }),
    })
    const folder = await emptyFolder()
    await writeFile(join(folder, 'admin-token'), `${token}\n`)
    const from_folder = { TRIBUTARY_URL: env.TRIBUTARY_URL, TRIBUTARY_DATA_DIR: folder }
    const unknown = await tributary(['company', 'suspend', 'co_9', '--json'], from_folder)
    expect(unknown).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(unknown.stderr)).toEqual({ error: 'unknown_company', message: 'There is no such company.' })

    const wrong = await tributary(['company', 'list', '--json'], { ...env, TRIBUTARY_ADMIN_TOKEN: 'x'.repeat(40) })
    expect(JSON.parse(wrong.stderr)).toMatchObject({ error: 'invalid_admin_token' })
    const none = await tributary(['company', 'list', '--json'], { TRIBUTARY_DATA_DIR: await emptyFolder() })
    expect(JSON.parse(none.stderr)).toMatchObject({ error: 'no_admin_token' })
  })
})

describe('every command', () => {
  it('says "unavailable" when the service is away', async () => {
    const env = { TRIBUTARY_URL: 'http://127.0.0.1:1', TRIBUTARY_ADMIN_TOKEN: token }
    for (const words of ['company list', 'status', 'status --wait --timeout 0', 'reports events --key srv_1']) {
      const run = await tributary([...words.split(' '), '--json'], env)
      expect(run).toMatchObject({ code: 1, stdout: '' })
      expect(JSON.parse(run.stderr)).toMatchObject({ error: 'unavailable' })
    }
  })

  it('ends with 2 when it was typed wrongly', async () => {
    const jsonl = await fileWith('a.jsonl', '')
    const typed = [
      '',
      'nonsense',
      'company',
      'company create',
      'company create --name A --plan gold',
      'company set co_1',
      'app set app_1',
      'app rotate-secret app_1 --overlap-hours soon',
      'app rotate-secret app_1 --overlap-hours 8761',
      'key create --app app_1 --label l --scope events:read',
      'app create --company c --name A --platform windows',
      'reports events --key k --since 2013-02-30',
      'reports events --key k --limit many',
      'backfill --key k',
      `backfill --key k ${jsonl} --map revenue`,
      'status --wait --timeout soon',
    ].map(async (words) => {
      const run = await tributary([...words.split(' ').filter((word) => word !== ''), '--json'])
      expect({ words, ...run }).toMatchObject({ words, code: 2, stdout: '' })
      expect(JSON.parse(run.stderr)).toMatchObject({ error: 'usage', message: expect.any(String) })
    })
    await Promise.all(typed)
  })

  it('has --help', async () => {
    const commands = ['', 'company create', 'company list', 'company suspend', 'company reinstate', 'app create']
    const more = [
      'key create',
      'key list',
      'key revoke',
      'key rotate-master',
      'status',
      'send',
      'backfill',
      'reports events',
      'config',
    ]
    const asked = [...commands, ...more, 'topics apply', 'migrate', 'master-key forget', 'doctor'].map(
      async (words) => {
        const run = await tributary([...words.split(' ').filter((word) => word !== ''), '--help'])
        expect(run).toMatchObject({ code: 0, stderr: '' })
        expect(run.stdout).toContain(`Usage: tributary ${words}`.trim())
        if (words !== '') expect(run.stdout).toContain('--json')
      },
    )
    await Promise.all(asked)
  })

  it('names a file that is not there', async () => {
    const run = await tributary(['backfill', '--key', 'k', '--json', '/nowhere/a.jsonl'])
    expect(JSON.parse(run.stderr)).toEqual({
      error: 'file_not_found',
      message: expect.stringContaining('/nowhere/a.jsonl'),
    })
  })
})

describe('tributary status', () => {
  it('waits until every lag is 0', async () => {
    let lag = 3
    const env = await service({
      'GET /admin/api/v1/status': () => {
        const body = { ...ready, consumers: [{ ...idle, lag, oldest_unwritten_ms: lag === 0 ? null : 10 }] }
        lag = Math.max(0, lag - 1)
        return { status: 200, body }
      },
    })
    const run = await tributary(['status', '--wait', '--json'], env)
    expect(run).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(run.stdout)).toEqual(ready)
  })

  it('ends with 1 when the lag stays until --timeout, and says who is behind', async () => {
    const env = await service({
      'GET /admin/api/v1/status': () => ({ status: 200, body: { ...ready, consumers: [{ ...idle, lag: 7 }] } }),
    })
    const run = await tributary(['status', '--wait', '--timeout', '0.3', '--json'], env)
    expect(run).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(run.stderr)).toEqual({ error: 'timeout', message: expect.stringContaining('event-writer has 7') })
  })
})

describe('tributary reports events', () => {
  it('asks with its key for the window in Unix ms and answers the report', async () => {
    const report = {
      rows: [{ day: '2013-01-01', event_name: 'departure', events: 3, unique_installs: 2, revenue_usd: 14.5 }],
      meta: { since_ms: 1356998400000, until_ms: 1359676800000, limit: 10, offset: 0, elapsed_ms: 3 },
    }
    const path = '/api/v1/reports/events?since_ms=1356998400000&until_ms=1359676800000&limit=10'
    const env = await service({
      [`GET ${path}`]: ({ headers }) =>
        headers.authorization === 'Bearer srv_1' ? { status: 200, body: report } : { status: 401, body: {} },
    })
    const words = 'reports events --key srv_1 --since 2013-01-01 --until 1359676800000 --limit 10'.split(' ')
    const json = await tributary([...words, '--json'], env)
    expect(JSON.parse(json.stdout)).toEqual(report)
    const hidden = words.filter((word) => word !== '--key' && word !== 'srv_1')
    const file = await fileWith('key', 'srv_1\n')
    const ways = [
      tributary([...hidden, '--key-file', file, '--json'], env),
      tributary([...hidden, '--key', '-', '--json'], env, 'srv_1\n'),
      tributary([...hidden, '--json'], { ...env, TRIBUTARY_SERVER_KEY: 'srv_1' }),
    ]
    for (const { stdout } of await Promise.all(ways)) expect(JSON.parse(stdout)).toEqual(report)
    const none = await tributary([...hidden, '--json'], env)
    expect([none.code, JSON.parse(none.stderr).error]).toEqual([2, 'usage'])
    const text = await tributary(words, env)
    expect(text.stdout).toBe(
      'day\tevent_name\tevents\tunique_installs\trevenue_usd\n2013-01-01\tdeparture\t3\t2\t14.5\n',
    )
    expect(text.stderr).toBe('')
  })

  it('filters by event name, and warns beside its output of money without a rate and of more rows', async () => {
    const row = { day: '2013-01-01', event_name: 'a b', events: 3, unique_installs: 2, revenue_usd: 0 }
    const meta = { since_ms: 1, until_ms: 2, limit: 1, offset: 4, elapsed_ms: 3, missing_rates: ['EUR', 'GBP'] }
    const env = await service({
      'GET /api/v1/reports/events?limit=1&event_name=a+b&event_name=c': () => ({
        status: 200,
        body: { rows: [row], meta },
      }),
    })
    const words = ['reports', 'events', '--key', 'srv_1', '--limit', '1', '--event-name', 'a b', '--event-name', 'c']
    for (const more of [[], ['--json']]) {
      const run = await tributary([...words, ...more], env)
      expect(run.code).toBe(0)
      expect(run.stdout.trim().split('\n')).toHaveLength(more.length === 0 ? 2 : 1)
      expect(run.stderr).toMatch(/^Warning: .* EUR, GBP: .*fx load/)
      expect(run.stderr.includes('--offset 5')).toBe(more.length === 0)
    }
  })

  it('shows which parameter the service does not know', async () => {
    const message = 'Parameters of this report: since_ms.'
    const body = { error: 'unknown_parameter', field: 'event_name', message }
    const env = await service({
      'GET /api/v1/reports/events?event_name=x': () => ({ status: 400, body }),
    })
    const run = await tributary(['reports', 'events', '--key', 'k', '--event-name', 'x', '--json'], env)
    expect(run).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(run.stderr)).toEqual({ error: 'unknown_parameter', message: `${message} (event_name)` })
  })
})

describe('tributary config', () => {
  it('shows every setting with its present value and no secret', async () => {
    const run = await tributary(['config', '--json'], { TRIBUTARY_ADMIN_TOKEN: token, TRIBUTARY_PORT: '9000' })
    const { settings } = JSON.parse(run.stdout) as { settings: { name: string; value: string | null }[] }
    const shown = (name: string) => settings.find((one) => one.name === name)?.value
    expect(shown('TRIBUTARY_PORT')).toBe('9000')
    expect(shown('TRIBUTARY_ADMIN_TOKEN')).toBe('********')
    expect(shown('TRIBUTARY_URL')).toBeNull()
    expect(run.stdout).not.toContain(token)
  })
})

describe('tributary topics apply', () => {
  it('says what it needs, and that Kafka is away', async () => {
    const none = await tributary(['topics', 'apply', '--json'])
    expect(none).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(none.stderr)).toEqual({
      error: 'bad_settings',
      message: expect.stringContaining('TRIBUTARY_KAFKA_BROKERS is needed'),
    })
    const away = await tributary(['topics', 'apply', '--json'], { TRIBUTARY_KAFKA_BROKERS: '127.0.0.1:1' })
    expect(away).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(away.stderr)).toMatchObject({ error: 'engine_unusable' })
  })
})

describe('tributary topics hand-over', () => {
  it('refuses a topic that is its own successor, and says what it needs', async () => {
    const words = (to: string) => ['topics', 'hand-over', '--from', 'events.accepted.v1', '--to', to, '--json']
    const same = await tributary(words('events.accepted.v1'))
    expect([same.code, JSON.parse(same.stderr).error]).toEqual([2, 'usage'])
    const none = await tributary(words('events.accepted.v2'))
    expect([none.code, JSON.parse(none.stderr).error]).toEqual([1, 'bad_settings'])
  })
})

describe('tributary migrate', () => {
  it('refuses a data folder that is not there, or that another process uses', async () => {
    const folder = await emptyFolder()
    const missing = await tributary(['migrate', '--json'], { TRIBUTARY_DATA_DIR: join(folder, 'none') })
    expect(missing).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(missing.stderr)).toMatchObject({ error: 'no_data_folder' })
    const lock = lockDataDir(folder)
    onTestFinished(() => lock.release())
    const busy = await tributary(['migrate', '--json'], { TRIBUTARY_DATA_DIR: folder })
    expect(JSON.parse(busy.stderr)).toMatchObject({ error: 'data_folder_in_use' })
  })
})

describe('tributary doctor', () => {
  it('finds nothing wrong with a service that is well', async () => {
    const env = await service({
      'GET /health': () => ({ status: 200, body: { status: 'ok', bindings: ready.bindings } }),
    })
    const run = await tributary(['doctor', '--json'], { ...env, TRIBUTARY_DATA_DIR: await emptyFolder() })
    expect({ code: run.code, ...JSON.parse(run.stdout) }).toMatchObject({ code: 0, ok: true })
  })

  it('names what is wrong and how to mend it, and ends with 1', async () => {
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
      checks: { name: string; ok: boolean; mend: string }[]
    }
    const failed = checks.filter((check) => !check.ok)
    expect({ code: run.code, ok }).toEqual({ code: 1, ok: false })
    expect(failed.map(({ name }) => name)).toEqual(['admin token', 'service: queues', 'service: disk_full', 'clock'])
    expect(failed.every(({ mend }) => mend.length > 0)).toBe(true)
    expect(JSON.parse(run.stderr)).toMatchObject({ error: 'unhealthy' })
  })

  it('says of the admin API that this machine is kept out, or that the address is not that of the data folder', async () => {
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
      const { checks } = JSON.parse(run.stdout) as { checks: { name: string; ok: boolean; mend: string | null }[] }
      const { ok, mend } = checks.find(({ name }) => name === 'admin API')!
      return [ok, mend]
    }
    expect(await find(200, { ...ready, instance: 'ours' })).toEqual([true, null])
    expect(await find(200, { ...ready, instance: 'other' })).toEqual([false, expect.stringContaining('demo.env')])
    const fenced = [false, expect.stringContaining('TRIBUTARY_ADMIN_NETWORKS')]
    expect(await find(404, { error: 'not_found' })).toEqual(fenced)
    const env = await service(admin(404, { error: 'not_found' }))
    expect((await tributary(['status'], env)).stderr).toContain('TRIBUTARY_ADMIN_NETWORKS')
  })

  it('shows the command that goes on, for services that are named besides as well', async () => {
    const trouble = { code: 'tables_lack_rows', message: 'Partition 3 lacks rows.', mend: 'npx tributary rebuild' }
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

  it('says of the master key whether it is there, whole and closed to others', async () => {
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
    expect(await find()).toEqual([false, expect.stringContaining('holds no master key, 32 bytes in base64')])
    await rm(file)
    await mkdir(join(folder, 'postgres', 'cluster'), { recursive: true })
    expect(await find()).toEqual([false, expect.stringContaining('master-key is missing')])
    expect(await find({ TRIBUTARY_MASTER_KEY: 'short' })).toEqual([
      false,
      expect.stringContaining('TRIBUTARY_MASTER_KEY'),
    ])
  })
})
