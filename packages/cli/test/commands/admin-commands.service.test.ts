import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Received } from '../fake-service.ts'
import { emptyFolder, fileWith, tributary } from '../run-tributary.ts'
import { company, sent, service, token } from './fake-admin-api.ts'

describe('commands of the admin API', () => {
  it('prints with --json exactly the answer of the admin API', async () => {
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
      last_used_ms: 60_000,
      requests_24h: 3,
    }
    const appNow = {
      ...{ app_id: 'app_1', company_id: 'co_1', app_key: 'app_live_1', name: 'A', platform: 'ios', bundle_id: null },
      ...{
        store_id: '1',
        provider_token: null,
        owns_store_id: true,
        development_keys: false,
        valid_receipts_only: false,
        has_apple_key: false,
        has_google_account: false,
        google_push_audience: null,
        google_push_email: null,
        created_at_ms: 5,
        old_secrets_end_ms: [],
      },
      ...{ click_window_hours: 1, probabilistic: false, probabilistic_window_hours: 2, reinstall_days: 3 },
    }
    let settling = 0
    const requested: unknown[] = []
    const take = (body: unknown) => (request: Received) => {
      requested.push(sent(request))
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
      'POST /admin/api/v1/apps/app_1/move-store-id': take(appNow),
      'POST /admin/api/v1/apps/app_1/rotate-secret': take({ ...appNow, signing_secret: 's2' }),
      'POST /admin/api/v1/keys': take(key),
      'GET /admin/api/v1/keys?app_id=app_1': () => ({ status: 200, body: { keys: [listed] } }),
      'POST /admin/api/v1/keys/key_1/revoke': take({ key_id: 'key_1', status: 'revoked' }),
      'POST /admin/api/v1/settle': () => {
        settling += 1
        return { status: 200, body: { settled: 400, done: settling === 2 } }
      },
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
      'app set app_1 --click-window-hours 1 --probabilistic off --probabilistic-window-hours 2 --reinstall-days 3',
      'app set app_1 --probabilistic on --click-window-hours -5 --reinstall-days long',
      'app set app_1 --development-keys on',
      'app set app_1 --google-push-audience https://a.example/ --google-push-email push@a.example',
      'app set app_1 --valid-receipts-only off',
      'app move-store-id 123 --to app_1',
      'app rotate-secret app_1',
      'app rotate-secret app_1 --overlap-hours 0',
      'key create --app app_1 --label billing --allow purchase,refund',
      'key create --app app_1 --label reader --scope reports:read,events:write --scope reports:read',
      'key list --app app_1',
      'key revoke key_1',
      'key rotate-master',
      'settle',
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
      appNow,
      appNow,
      appNow,
      appNow,
      appNow,
      appNow,
      { ...appNow, signing_secret: 's2' },
      { ...appNow, signing_secret: 's2' },
      key,
      key,
      { keys: [listed] },
      { key_id: 'key_1', status: 'revoked' },
      { key_id: '1a2b3c4d', rotated: 2, unreadable: 0 },
      { settled: 800 },
    ])
    expect(requested.filter((body) => Object.keys(body as object).length > 0)).toEqual([
      { name: 'Air', plan: 'growth', monthly_quota: 5 },
      { plan: 'scale', monthly_quota: 7 },
      { company_id: 'co_1', name: 'A', platform: 'ios', bundle_id: 'b', store_id: '1', provider_token: 't' },
      { name: 'A', bundle_id: 'b', store_id: '1', provider_token: 't' },
      { click_window_hours: 1, probabilistic: false, probabilistic_window_hours: 2, reinstall_days: 3 },
      { probabilistic: true, click_window_hours: -5, reinstall_days: 'long' },
      { development_keys: true },
      { google_push_audience: 'https://a.example/', google_push_email: 'push@a.example' },
      { valid_receipts_only: false },
      { store_id: '123' },
      { overlap_hours: 24 },
      { overlap_hours: 0 },
      { app_id: 'app_1', label: 'billing', allowed_events: ['purchase', 'refund'] },
      { app_id: 'app_1', label: 'reader', allowed_events: [], scopes: ['reports:read', 'events:write'] },
    ])
  })

  it('asks before `company set --keep-raw-days` deletes more than one of a hundred raw events', async () => {
    const changed: unknown[] = []
    const expiring = (days: number, raw_events_expired: number) => ({
      [`GET /admin/api/v1/companies/co_1/expiring?keep_raw_days=${days}`]: () => ({
        status: 200,
        body: { keep_raw_days: days, raw_events: 1000, raw_events_expired },
      }),
    })
    const env = await service({
      ...expiring(90, 10),
      ...expiring(30, 11),
      'PATCH /admin/api/v1/companies/co_1': (request) => {
        changed.push(sent(request))
        return { status: 200, body: company }
      },
    })
    const set = (...more: string[]) => tributary(['company', 'set', 'co_1', '--keep-raw-days', ...more], env)
    const refused = await set('30')
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/^not_confirmed: .*11 of 1000 raw events.*--yes/),
    ])
    expect(changed).toEqual([])
    expect([(await set('90')).code, (await set('30', '--yes')).code]).toEqual([0, 0])
    expect(changed).toEqual([{ keep_raw_days: 90 }, { keep_raw_days: 30 }])
  })

  it('sends `company set --keep-raw-days unlimited` as no limit', async () => {
    const requested: unknown[] = []
    const env = await service({
      'GET /admin/api/v1/companies/co_1/expiring?keep_raw_days=395': () => ({
        status: 200,
        body: { keep_raw_days: 395, raw_events: 0, raw_events_expired: 0 },
      }),
      'PATCH /admin/api/v1/companies/co_1': (request) => {
        requested.push(sent(request))
        return { status: 200, body: company }
      },
    })
    for (const words of ['--keep-raw-days unlimited', '--keep-ip-days 7 --keep-click-days 30 --keep-raw-days 395'])
      expect(await tributary(['company', 'set', 'co_1', ...words.split(' ')], env)).toMatchObject({ code: 0 })
    expect(requested).toEqual([{ keep_raw_days: null }, { keep_ip_days: 7, keep_click_days: 30, keep_raw_days: 395 }])
  })

  it('lists dead letters and retries them, all or by reason, and counts those that stay', async () => {
    const topic = 'events.accepted.v1'
    const from_ms = Date.UTC(2026, 0, 2)
    const dead = [
      { topic, reason: 'row_refused', count: 3, first_ms: from_ms, last_ms: from_ms + 1 },
      { topic, reason: 'too_large', count: 1, first_ms: from_ms, last_ms: from_ms },
    ]
    const requested: unknown[] = []
    const env = await service({
      'GET /admin/api/v1/dead-letters': () => ({ status: 200, body: { dead } }),
      [`GET /admin/api/v1/dead-letters?topic=${topic}`]: () => ({ status: 200, body: { dead: [] } }),
      'POST /admin/api/v1/dead-letters/retry': (request) => {
        requested.push(sent(request))
        return { status: 200, body: requested.length === 1 ? { retried: 3, too_large: 1 } : { retried: 3 } }
      },
    })
    const run = async (words: string) => (await tributary(words.split(' '), env)).stdout
    expect(JSON.parse(await run('dead list --json'))).toEqual({ dead })
    expect(JSON.parse(await run(`dead list --topic ${topic} --json`))).toEqual({ dead: [] })
    expect(await run('dead list')).toContain(`${topic}\trow_refused\t3\t2026-01-02T00:00:00.000Z`)
    expect(await run('dead retry')).toBe('3 records went back to their topics; 1 are too large for a retry and stay\n')
    expect(await run(`dead retry --topic ${topic} --reason row_refused`)).toBe('3 records went back to their topics\n')
    expect(JSON.parse(await run('dead retry --json'))).toEqual({ retried: 3 })
    expect(requested).toEqual([{}, { topic, reason: 'row_refused' }, {}])
  })

  it('sends a file of exchange rates unchanged, and prints its totals or its error', async () => {
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
    const zip = await fileWith('eurofxref-hist.zip', 'PK\u0003\u0004')
    expect((await tributary(['fx', 'load', zip], env)).stderr).toBe(
      `bad_csv: ${zip} is a zip file: unzip it, and load the CSV in it.\n`,
    )
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

  it('passes on the code of the service and reads the token from the data folder', async () => {
    const env = await service({
      'POST /admin/api/v1/companies/co_9/suspend': () => ({ status: 404, body: { error: 'unknown_company' } }),
    })
    const folder = await emptyFolder()
    await writeFile(join(folder, 'admin-token'), `${token}\n`)
    const from_folder = { TRIBUTARY_URL: env.TRIBUTARY_URL, TRIBUTARY_DATA_DIR: folder }
    const unknown = await tributary(['company', 'suspend', 'co_9', '--json'], from_folder)
    expect(unknown).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(unknown.stderr)).toEqual({ error: 'unknown_company', message: 'No company has this id.' })

    const wrong = await tributary(['company', 'list', '--json'], { ...env, TRIBUTARY_ADMIN_TOKEN: 'x'.repeat(40) })
    expect(JSON.parse(wrong.stderr)).toMatchObject({ error: 'invalid_admin_token' })
    const none = await tributary(['company', 'list', '--json'], { TRIBUTARY_DATA_DIR: await emptyFolder() })
    expect(JSON.parse(none.stderr)).toMatchObject({ error: 'no_admin_token' })
  })
})
