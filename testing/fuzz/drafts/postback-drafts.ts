import { declaredRoutes } from '@tributary/standalone/declared-routes'
import { mutateBytes, mutateText } from '../mutate/mutate-bytes.ts'
import { mutateJson } from '../mutate/mutate-json.ts'
import type { Random } from '../random.ts'
import type { Draft, Header } from './draft.ts'

const { sendSkanPostback, deviceSendsSkanPostback, sendAakPostback, deviceSendsAakPostback } = declaredRoutes
const receivers = [sendSkanPostback, deviceSendsSkanPostback, sendAakPostback, deviceSendsAakPostback]

const skan = (random: Random, n: number) => ({
  version: random.pick(['1.0', '2.0', '2.1', '2.2', '3.0', '4.0', '5.0', '']),
  'ad-network-id': 'network.example',
  'source-identifier': '5239',
  'campaign-id': 5,
  'app-id': random.pick([1, 4_294_967_297, -1, 0.5]),
  'transaction-id': `t-${random.chance(0.5) ? n : random.below(9)}`,
  redownload: random.chance(0.5),
  'did-win': true,
  'postback-sequence-index': random.below(4),
  'conversion-value': random.below(70),
  'attribution-signature': Buffer.from(random.hex(140), 'hex').toString('base64'),
})

/** A JWS whose header and payload may be no JSON, and whose parts may be too few or too many. */
function jws(random: Random, n: number): string {
  const header = random.pick(['{"alg":"ES256","kid":"a\\/1"}', '{"alg":"none"}', '{"alg":"HS256"}', 'no json', ''])
  const payload = mutateJson({ 'postback-identifier': `p-${n}`, 'advertised-item-identifier': 1 }, random)
  const parts = [header, payload, random.hex(random.pick([0, 128, 140]))].map((part) => Buffer.from(part))
  const count = random.chance(0.85) ? 3 : random.below(6)
  return Array.from({ length: count }, (_, at) => (parts[at] ?? Buffer.from('x')).toString('base64url')).join('.')
}

const aak = (random: Random, n: number) => ({
  'jws-string': jws(random, n),
  'conversion-value': 5,
  'country-code': 'US',
})

/** A postback of either protocol at any of the receivers; nobody has credentials. */
export function postback(random: Random, n: number): Draft {
  const { path } = random.pick(receivers)
  const json = () => mutateJson(random.chance(0.5) ? skan(random, n) : aak(random, n), random)
  const text = random.chance(0.3) ? jws(random, n) : json()
  const body = random.chance(0.25) ? mutateText(text, random) : Buffer.from(text)
  const type = random.pick(['application/jwt', 'application/json', 'text/plain', '', 'x'.repeat(3000), '\u00ff'])
  const headers: Header[] = [
    ['Content-Type', type],
    ...(random.chance(0.1) ? [['Content-Encoding', random.pick(['gzip', 'br', 'identity'])] as Header] : []),
  ]
  const method = random.chance(0.95) ? 'POST' : random.pick(['GET', 'HEAD', 'PUT', 'OPTIONS'])
  const sent = random.chance(0.05) ? mutateBytes(body, random) : body
  return { kind: 'postback', method, path, headers, body: sent, surface: 'postbacks', app: null }
}
