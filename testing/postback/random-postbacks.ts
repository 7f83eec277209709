import { day_ms } from '@tributary/contracts/limits'
import type { CvSchema, CvVersion } from '@tributary/contracts/postback/cv-schema'
import fc from 'fast-check'
import { type AppleTwin, aakPayload, development_kid, production_kid, skanFields, skanVersions } from './apple-twin.ts'
import type { StoreApp } from './expected-skan-report.ts'
import { type Fields, type JsonValue, writeJson } from './json.ts'
import type { ReceivedPostback } from './received.ts'

/** First day on which postbacks come, and how many days follow. */
export const first_ms = Date.UTC(2026, 2, 1)
export const days = 60

const values = {
  fine: fc.constantFrom(undefined, 0, 1, 2, 63),
  coarse: fc.constantFrom(undefined, undefined, 'low', 'medium', 'high'),
}

/** Ids come from pools so small that they meet. An item id is above 2^32, and one belongs to no app. */
const content = fc.record({
  protocol: fc.constantFrom('skan' as const, 'skan' as const, 'aak' as const),
  version: fc.constantFrom(...skanVersions),
  id: fc.constantFrom('id-1', 'id-2', 'id-3', 'id-4'),
  network: fc.constantFrom('a.skadnetwork', 'b.skadnetwork'),
  source: fc.constantFrom(7, 5239),
  index: fc.constantFrom(0, 0, 1, 2),
  advertised: fc.constantFrom(525_463_029n, 10_738_027_756n, 77n),
  publisher: fc.constantFrom(undefined, 525_463_029n, 77n),
  type: fc.constantFrom('download', 'download', 'redownload', 're-engagement', undefined),
  won: fc.constantFrom(true, true, false),
  kid: fc.constantFrom(production_kid, production_kid, development_kid),
})
type Content = typeof content extends fc.Arbitrary<infer Value> ? Value : never

/** One arrival of a postback, with unsigned values: genuine, with a changed signed value, of an unknown kind, or of a refused form. */
const arrival = fc.record({
  ...values,
  at_ms: fc
    .tuple(fc.nat(days - 1), fc.oneof(fc.constantFrom(0, 1, day_ms - 1), fc.nat(day_ms - 1)))
    .map(([day, ms]) => first_ms + day * day_ms + ms),
  change: fc.constantFrom(
    'none' as const,
    'none' as const,
    'none' as const,
    'forged' as const,
    'unknown' as const,
    'refused' as const,
  ),
  /** Place in the log. */
  place: fc.nat(99),
})
type Arrival = typeof arrival extends fc.Arbitrary<infer Value> ? Value : never

/** Postbacks in the order of the log: genuine ones, resends with other values, forgeries, and ones of an unknown kind. */
export const randomPostbacks = (apple: AppleTwin): fc.Arbitrary<ReceivedPostback[]> =>
  fc
    .array(fc.tuple(content, fc.array(arrival, { minLength: 1, maxLength: 4 })), { minLength: 1, maxLength: 12 })
    .map((postbacks) =>
      postbacks
        .flatMap(([made, arrivals]) => arrivals.map((one) => ({ made, one })))
        .toSorted((a, b) => a.one.place - b.one.place)
        .map(({ made, one }) => ({
          protocol: made.protocol,
          body: made.protocol === 'skan' ? skanBody(apple, made, one) : aakBody(apple, made, one),
          received_at_ms: one.at_ms,
        })),
    )

const unsigned = ({ fine, coarse }: Pick<Arrival, 'fine' | 'coarse'>) => ({
  'conversion-value': fine,
  'coarse-conversion-value': coarse,
})
const defined = (fields: Record<string, JsonValue | undefined>): Fields => JSON.parse(JSON.stringify(fields))

function skanBody(apple: AppleTwin, made: Content, { change, ...one }: Arrival): string {
  const { version, id, network, source, index, advertised, publisher, won, type } = made
  const all = {
    'transaction-id': id,
    'ad-network-id': network,
    'app-id': advertised,
    ...(version === '4.0'
      ? { 'source-identifier': `${source}`, 'postback-sequence-index': index }
      : { 'campaign-id': source }),
    ...(version >= '2.0' ? { redownload: type === 'redownload', 'source-app-id': publisher } : {}),
    ...(version >= '3.0' ? { 'did-win': won } : {}),
  }
  const signed = apple.signSkan(version, skanFields(version, { ...all, 'conversion-value': undefined }))
  const forged: Fields = version === '4.0' ? { 'source-identifier': '8' } : { 'campaign-id': 8 }
  const changes: Record<Arrival['change'], Fields> = { none: {}, forged, unknown: { version: '9.0' }, refused: {} }
  const sent = writeJson({ ...signed, ...defined(unsigned(one)), ...changes[change] })
  return change === 'refused' ? `{"app-id":1,${sent.slice(1)}` : sent
}

function aakBody(apple: AppleTwin, made: Content, { change, ...one }: Arrival): string {
  const payload = aakPayload({
    'postback-identifier': made.id,
    'ad-network-identifier': made.network,
    'advertised-item-identifier': made.advertised,
    'publisher-item-identifier': made.publisher,
    'source-identifier': `${made.source}`,
    'postback-sequence-index': made.index,
    'conversion-type': made.type,
    'did-win': made.won,
  })
  const kid = change === 'unknown' ? 'apple-cas-identifier/9' : made.kid
  const jws = apple.signAak(payload, { kid, alg: change === 'refused' ? 'none' : 'ES256' })
  const [head, , signature] = jws.split('.')
  const forged = Buffer.from(writeJson({ ...payload, 'did-win': !made.won })).toString('base64url')
  const sent = change === 'forged' ? `${head}.${forged}.${signature}` : jws
  const bare = one.fine === undefined && one.coarse === undefined
  return bare ? sent : writeJson({ 'jws-string': sent, ...defined(unsigned(one)) })
}

type Bands = Pick<CvSchema['postbacks'][number], 'fine' | 'coarse'>
const schemaOf = (version: number, published_at_ms: number, lists: Bands[]): CvVersion => {
  const hours = [48, 168, 840] as const
  const postbacks = lists.map((bands, n) => {
    const index = n as 0 | 1 | 2
    return { postback_sequence_index: index, window_hours: hours[index], lock_window: false, ...bands }
  })
  return { version, published_at_ms, schema: { version, postbacks } }
}

/** Two apps with a store id. The schema of the first changes in the middle of windows; the second trusts development keys. */
export const storeApps = (app_ids: readonly [string, string]): StoreApp[] => {
  const fine = [
    { value: 0, name: 'opened' },
    { value: 1, name: 'bought', revenue_min_usd: 0.99, revenue_max_usd: 5 },
    { value: 63, name: 'whale', revenue_min_usd: 100.000001 },
  ]
  const dearer = [
    { value: 1, name: 'bought', revenue_min_usd: 2, revenue_max_usd: 7.5 },
    { value: 2, name: 'again', revenue_min_usd: 7.5, revenue_max_usd: 20, event_name: 'purchase' },
  ]
  const coarse = [
    { value: 'low' as const, name: 'none', revenue_min_usd: 0, revenue_max_usd: 1 },
    { value: 'high' as const, name: 'much', revenue_min_usd: 10 },
  ]
  const late = [
    { fine, coarse },
    { fine: [], coarse },
    { fine: dearer, coarse },
  ]
  const versions = [
    schemaOf(1, first_ms - 70 * day_ms, [{ fine, coarse }]),
    schemaOf(2, first_ms + 10 * day_ms + 1, late),
    schemaOf(3, first_ms + 30 * day_ms, [{ fine: dearer, coarse: [] }]),
  ]
  return [
    { app_id: app_ids[0], store_id: '525463029', development_keys: false, schemas: versions },
    { app_id: app_ids[1], store_id: '10738027756', development_keys: true, schemas: versions.slice(1, 2) },
  ]
}
