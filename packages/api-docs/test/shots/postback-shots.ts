import { limits } from '@tributary/contracts/limits'
import type { Shot } from '../shot.ts'

const large = limits.postback_body_bytes_max + 1
const skan = ['/skan-postback', '/.well-known/skadnetwork/report-attribution/']
const aak = ['/aak-postback', '/.well-known/appattribution/report-attribution/']

/**
 * Every code of the receivers of postbacks, in an order that brings each about. They use up the limit of this address, together with
 * the shots at the doors of the stores before them and one slow body for each.
 */
export function postbackShots(atStores: readonly Shot[]): Shot[] {
  const send = (path: string, code: string, body: string): Shot => ({ route: `POST ${path}`, code, body })
  const jws = 'eyJhbGciOiJFUzI1NiJ9.e30.c2ln'
  const [first = ''] = skan
  const shots = [
    ...atStores,
    ...[...skan, ...aak].map((path): Shot => ({ route: `GET ${path}`, code: 'ok' })),
    ...[...skan, ...aak].flatMap((path) => [
      { route: `POST ${path}`, code: 'body_too_large', announced_bytes: large },
      send(path, 'bad_json', '{'),
    ]),
    ...skan.map((path) => send(path, 'ok', JSON.stringify({ path }))),
    ...aak.flatMap((path) => [
      send(path, 'ok', jws),
      send(path, 'ok', JSON.stringify({ 'jws-string': jws, path })),
      send(path, 'bad_jws', 'no jws'),
    ]),
  ]
  const doors = new Set(atStores.map(({ route }) => route))
  const slow = skan.length + aak.length + doors.size
  const used = shots.filter(({ route }) => route.startsWith('POST')).length + slow
  return [
    ...shots,
    ...Array.from({ length: limits.postbacks_max - used }, () => send(first, 'bad_json', 'x')),
    ...[...skan, ...aak].map((path) => send(path, 'rate_limited', '{}')),
    ...[...doors].map((route): Shot => ({ route, code: 'rate_limited', body: '{}' })),
  ]
}
