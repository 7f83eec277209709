import { bearer, type Companies, type Shot } from '../shot.ts'

const prefix = '/admin/api/v1/partners'

/** Every code of the routes of partners. */
export function partnerShots(admin_token: string, { other: { app_id } }: Companies): Shot[] {
  const shot = (route: string, code: string, body?: unknown, query = ''): Shot => {
    const [method, path = ''] = route.split(' ')
    return {
      ...{ route: `${method} ${prefix}${path}`, code, path: `${prefix}${path}${query}` },
      headers: { ...bearer(admin_token), ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    }
  }
  const named = { app_id, partner: 'documented' }
  const nobody = { app_id, partner: 'nobody' }
  const none = { app_id: 'none', partner: 'documented' }
  const address = { postback_url: 'https://partner.invalid/?c={ext_click_id}' }
  const settings = (route: string) => [
    shot(route, 'ok', { ...named, ...address }),
    shot(route, 'bad_json', '['),
    shot(route, 'invalid_field', { ...named, postback_url: 'https://10.0.0.1/' }),
    shot(route, 'unknown_app', { ...none, ...address }),
  ]
  const act = (route: string) => [
    shot(route, 'ok', named),
    shot(route, 'bad_json', '['),
    shot(route, 'invalid_field', { app_id }),
    shot(route, 'unknown_app', none),
    shot(route, 'unknown_partner', nobody),
  ]
  return [
    ...settings('PUT '),
    ...settings('POST /preview'),
    shot('GET ', 'ok', undefined, `?app_id=${app_id}`),
    shot('GET ', 'invalid_field'),
    shot('GET ', 'unknown_app', undefined, '?app_id=none'),
    ...act('POST /test'),
    ...act('POST /retry'),
    shot('GET /deliveries', 'ok', undefined, `?app_id=${app_id}&dead=1`),
    shot('GET /deliveries', 'invalid_field', undefined, `?app_id=${app_id}&limit=0`),
    shot('GET /deliveries', 'unknown_app', undefined, '?app_id=none'),
    ...act('POST /remove'),
  ]
}
