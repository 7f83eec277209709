import { describe, expect, test } from 'vitest'
import { adminApiUnderTest } from './admin-api-under-test.ts'
import { admin_token } from './admin-app.ts'

const { ask, inject } = adminApiUnderTest()

describe('refuses', () => {
  const withAuth = (authorization: string) =>
    ask('POST', '/companies', { name: 'Acme' }, { authorization, 'content-type': 'application/json' })

  test.each(['', 'Bearer', 'Bearer ', 'Basic abc', admin_token])(
    'a request without a bearer token: %j',
    async (given) => {
      expect(await withAuth(given)).toMatchObject({ status: 401, body: { error: 'missing_bearer_token' } })
    },
  )

  test.each([`Bearer ${admin_token}x`, 'Bearer x'])('another token: %j', async (given) => {
    expect(await withAuth(given)).toMatchObject({ status: 401, body: { error: 'invalid_admin_token' } })
  })

  test('a body over 64 KiB, and only after the token', async () => {
    const name = 'x'.repeat(64 * 1024)
    expect(await ask('POST', '/companies', { name })).toMatchObject({ status: 413, body: { error: 'body_too_large' } })
    const stranger = await ask('POST', '/companies', { name }, { authorization: 'Bearer other' })
    expect(stranger.status).toBe(401)
  })

  test.each([undefined, '', '{', '\ufeff{}', '[]', 'null', '"text"', '1'])(
    'a body that is no object: %j',
    async (body) => {
      expect(await ask('POST', '/companies', body)).toMatchObject({ status: 400, body: { error: 'bad_json' } })
    },
  )

  test.each<[path: string, body: object, field: string]>([
    ['/companies', {}, 'name'],
    ['/companies', { name: '  ' }, 'name'],
    ['/companies', { name: 'a\u0000b' }, 'name'],
    ['/companies', { name: 'A', plan: 'gold' }, 'plan'],
    ['/companies', { name: 'A', monthly_quota: -1 }, 'monthly_quota'],
    ['/companies', { name: 'A', monthly_quota: 1.5 }, 'monthly_quota'],
    ['/companies', { name: 'A', monthly_quota: '5' }, 'monthly_quota'],
    ['/companies', { name: 'A', colour: 'red' }, 'colour'],
    ['/apps', { company_id: 'co_1', name: 'A', platform: 'windows' }, 'platform'],
    ['/apps', { company_id: 7, name: 'A', platform: 'ios' }, 'company_id'],
    ['/apps', { company_id: 'co_1', name: 'A', platform: 'ios', bundle_id: '\u0000' }, 'bundle_id'],
    ['/apps', { company_id: 'co_1', name: 'A', platform: 'android', bundle_id: 'com.acme/../x' }, 'bundle_id'],
    ['/apps', { company_id: 'co_1', name: 'A', platform: 'android', bundle_id: ' ' }, 'bundle_id'],
    ['/apps', { company_id: 'co_1', name: 'A', platform: 'android', store_id: 'x'.repeat(65) }, 'store_id'],
    ['/apps', { company_id: 'co_1', name: 'A', platform: 'ios', provider_token: 'a b' }, 'provider_token'],
    ['/apps', { company_id: 'co_1', name: 'A', platform: 'ios', store_id: 'id123' }, 'store_id'],
    ['/apps', { company_id: 'co_1', name: 'A', platform: 'ios', store_id: 'com.acme' }, 'store_id'],
    ['/apps', { company_id: 'co_1', name: 'A', platform: 'ios', store_id: '1'.repeat(21) }, 'store_id'],
    ['/keys', { app_id: 'app_1', label: '' }, 'label'],
    ['/keys', { app_id: 'app_1', label: 'L', scopes: [] }, 'scopes'],
    ['/keys', { app_id: 'app_1', label: 'L', scopes: ['events:read'] }, 'scopes.0'],
    ['/apps/app_1/rotate-secret', { overlap_hours: -1 }, 'overlap_hours'],
    ['/apps/app_1/rotate-secret', { overlap_hours: 0.5 }, 'overlap_hours'],
    ['/apps/app_1/rotate-secret', { overlap_hours: 365 * 24 + 1 }, 'overlap_hours'],
    ['/apps/app_1/rotate-secret', { hours: 1 }, 'hours'],
    ['/keys', { app_id: 'app_1', label: 'L', allowed_events: ['ok', ''] }, 'allowed_events.1'],
    ['/keys', { app_id: 'app_1', label: 'L', allowed_events: Array(201).fill('e') }, 'allowed_events'],
  ])('a bad field by its name: %s %j', async (path, body, field) => {
    expect(await ask('POST', path, body)).toMatchObject({ status: 400, body: { error: 'invalid_field', field } })
  })

  test.each<[path: string, body: object, field: string]>([
    ['/companies/co_1', { plan: 'gold' }, 'plan'],
    ['/companies/co_1', { monthly_quota: 'unlimited' }, 'monthly_quota'],
    ['/companies/co_1', { name: 'B' }, 'name'],
    ['/apps/app_1', { name: '' }, 'name'],
    ['/apps/app_1', { platform: 'ios' }, 'platform'],
    ['/apps/app_1', { store_id: 'x'.repeat(65) }, 'store_id'],
    ['/apps/app_1', { bundle_id: '1com acme' }, 'bundle_id'],
    ['/apps/app_1', { provider_token: '\u00a0' }, 'provider_token'],
    ['/apps/app_1', { click_window_hours: 0 }, 'click_window_hours'],
    ['/apps/app_1', { click_window_hours: 721 }, 'click_window_hours'],
    ['/apps/app_1', { click_window_hours: 'long' }, 'click_window_hours'],
    ['/apps/app_1', { probabilistic: 'on' }, 'probabilistic'],
    ['/apps/app_1', { probabilistic_window_hours: 1.5 }, 'probabilistic_window_hours'],
    ['/apps/app_1', { reinstall_days: 0 }, 'reinstall_days'],
    ['/apps/app_1', { reinstall_days: null }, 'reinstall_days'],
  ])('a bad field of a change by its name: %s %j', async (path, body, field) => {
    expect(await ask('PATCH', path, body)).toMatchObject({ status: 400, body: { error: 'invalid_field', field } })
  })

  test('apps of no company', async () => {
    const expected = { status: 400, body: { error: 'invalid_field', field: 'company_id' } }
    expect(await ask('GET', '/apps')).toMatchObject(expected)
  })

  test('keys of no app', async () => {
    expect(await ask('GET', '/keys')).toMatchObject({ status: 400, body: { error: 'invalid_field', field: 'app_id' } })
  })

  test.each(['co_00000000000000000000', 'co_', '%00', "'%20OR%201=1"])('an unknown company: %s', async (id) => {
    const expected = { status: 404, body: { error: 'unknown_company' } }
    expect(await ask('POST', `/companies/${id}/suspend`)).toMatchObject(expected)
    expect(await ask('GET', `/companies/${id}`)).toMatchObject(expected)
    expect(await ask('PATCH', `/companies/${id}`, { plan: 'free' })).toMatchObject(expected)
    expect(await ask('GET', `/apps?company_id=${id}`)).toMatchObject(expected)
    const company_id = decodeURIComponent(id)
    expect(await ask('POST', '/apps', { company_id, name: 'A', platform: 'ios' })).toMatchObject(expected)
  })

  test.each(['app_00000000000000000000', 'nothing'])('an unknown app: %s', async (app_id) => {
    const expected = { status: 404, body: { error: 'unknown_app' } }
    expect(await ask('POST', '/keys', { app_id, label: 'L' })).toMatchObject(expected)
    expect(await ask('GET', `/keys?app_id=${app_id}`)).toMatchObject(expected)
    expect(await ask('PATCH', `/apps/${app_id}`, { name: 'B' })).toMatchObject(expected)
    expect(await ask('POST', `/apps/${app_id}/rotate-secret`, {})).toMatchObject(expected)
  })

  test.each(['key_00000000000000000000', 'nothing'])('an unknown key: %s', async (id) => {
    expect(await ask('POST', `/keys/${id}/revoke`)).toMatchObject({ status: 404, body: { error: 'unknown_key' } })
  })

  test('a method that a path does not have', async () => {
    const answer = await inject('/companies', { method: 'DELETE' })
    expect(answer.statusCode).toBe(405)
    expect(answer.json().error).toBe('method_not_allowed')
  })
})
