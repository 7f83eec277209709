import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { expect, it } from 'vitest'
import { aakPayload, createAppleTwin, skanFields } from '../postback/apple-twin.ts'
import { expectedSkanReport } from '../postback/expected-skan-report.ts'
import { type Fields, writeJson } from '../postback/json.ts'
import { first_ms, storeApps } from '../postback/random-postbacks.ts'

const apple = createAppleTwin()
const [ours, other] = storeApps(['ours', 'other']) as [ReturnType<typeof storeApps>[0], ReturnType<typeof storeApps>[0]]
const noon_ms = first_ms + 12 * hour_ms

/*
 * `ours` is item 525463029. Version 1 of its schema is older than all installs: fine 1 is [0.99, 5), fine 63 begins at
 * 100.000001 without end. Network a, source 5239, day 2026-03-01, SKAN:
 *   t1 fine 1, sent again with fine 63                       -> one install, 0.99 to 5
 *   t2 forged first, then genuine with fine 63               -> one install, 100.000001 twice
 *   t3 redownload with no value                              -> one redownload, cv_null
 *   t4 lost                                                  -> nothing
 *   t5 forged alone, twice                                   -> one unverified
 *   t6 of the other app, shown in ours                       -> nothing
 *   t7 of an unknown app, shown in ours, coarse low          -> one install, 0 to 1
 *   t1 of sequence index 1, coarse high, next day            -> a row of its own: no install, schema 1 has no index 1
 * AAK: a development postback counts for nothing until ours trusts such keys; a re-engagement is no install.
 */
const skan = (id: string, changes: Fields = {}) =>
  apple.signSkan('4.0', skanFields('4.0', { 'transaction-id': id, 'conversion-value': undefined, ...changes }))
const sent = (fields: Fields, at_ms = noon_ms) => ({
  protocol: 'skan' as const,
  body: writeJson(fields),
  received_at_ms: at_ms,
})
const forged = { 'attribution-signature': 'AAAA' }
const aak = (changes: Fields, kid: string) => ({
  protocol: 'aak' as const,
  body: apple.signAak(aakPayload({ 'advertised-item-identifier': 525_463_029, ...changes }), { kid, alg: 'ES256' }),
  received_at_ms: noon_ms,
})
const postbacks = [
  sent({ ...skan('t1'), 'conversion-value': 63 }, noon_ms + 1),
  sent({ ...skan('t1'), 'conversion-value': 1 }),
  sent({ ...skan('t2'), 'conversion-value': 1, ...forged }),
  sent({ ...skan('t2'), 'conversion-value': 63 }),
  sent(skan('t3', { redownload: true })),
  sent(skan('t4', { 'did-win': false })),
  sent({ ...skan('t5'), ...forged }),
  sent({ ...skan('t5'), 'conversion-value': 1, ...forged }),
  sent(skan('t6', { 'app-id': 10_738_027_756n, 'source-app-id': 525_463_029 })),
  sent({ ...skan('t7', { 'app-id': 77, 'source-app-id': 525_463_029 }), 'coarse-conversion-value': 'low' }),
  sent({ ...skan('t1', { 'postback-sequence-index': 1 }), 'coarse-conversion-value': 'high' }, noon_ms + day_ms),
  aak({}, 'apple-development-identifier/1'),
  aak({ 'conversion-type': 're-engagement' }, 'apple-cas-identifier/0'),
]
const history = { postbacks, apps: [ours, other], keys: apple.keys }
const window = { since_ms: first_ms, until_ms: first_ms + 2 * day_ms }

it('counts as a person counts by hand', () => {
  const none = { installs: 0, redownloads: 0, cv_null: 0, fine: {}, coarse_low: 0, coarse_medium: 0, coarse_high: 0 }
  const plain = { ...none, revenue_min_usd: 0, revenue_max_usd: 0, unverified: 0, schema_ambiguous: false }
  const first = { day: '2026-03-01', protocol: 'skan', network: 'example123.skadnetwork', source: '5239' }
  const reEngagement = { ...plain, day: '2026-03-01', protocol: 'aak', network: 'example123.adattributionkit' }
  const skanRow = {
    ...plain,
    ...first,
    sequence_index: 0,
    schema_version: 1,
    postbacks: 4,
    installs: 3,
    redownloads: 1,
  }
  expect(expectedSkanReport(history, ours, window)).toEqual([
    { ...reEngagement, source: '1234', sequence_index: 0, postbacks: 1, cv_null: 1, schema_version: 1 },
    {
      ...{ ...skanRow, cv_null: 1, fine: { 1: 1, 63: 1 }, coarse_low: 1, unverified: 1 },
      ...{ revenue_min_usd: 100.99, revenue_max_usd: 106 },
    },
    { ...plain, ...first, day: '2026-03-02', sequence_index: 1, postbacks: 1, coarse_high: 1, schema_version: 1 },
  ])
})

it('counts postbacks of development keys for an app that trusts them', () => {
  const trusting = { ...ours, development_keys: true }
  const rows = expectedSkanReport({ ...history, apps: [trusting, other] }, trusting, window)
  expect(rows[0]).toMatchObject({ protocol: 'aak', postbacks: 2, installs: 1, cv_null: 2 })
})
