import { limits } from '@tributary/contracts/limits'
import { expect, test } from 'vitest'
import { judgeCost } from '../../src/costs/judge-cost.ts'
import { judgeCosts } from '../../src/costs/judge-costs.ts'

const now_ms = Date.UTC(2026, 5, 1, 23, 59)
const good = { day: '2026-06-01', partner: 'acme', cost: 1.5, currency: 'EUR' }
const judge = (change: object) => judgeCost({ ...good, ...change }, now_ms)
const faultOf = (change: object) => {
  const judged = judge(change)
  return 'fault' in judged ? [judged.fault.reason, judged.fault.field] : 'accepted'
}

test('a cost has the names that links have, absent texts are empty, and its money is exact to the micro', () => {
  const stored = { ...good, campaign: '', ad_group: '', country: '', clicks: null, impressions: null }
  const { cost: _cost, ...named } = stored
  expect(judge({})).toEqual({ cost: { ...named, cost_micros: 1_500_000 } })
  const told = {
    partner: 'Acme_Ads-1',
    campaign: ' Spring é',
    ad_group: 'A',
    country: 'de',
    currency: 'usd',
    clicks: 0,
  }
  expect(judge({ ...told, impressions: 1e12, cost: 0.1 + 0.2 })).toEqual({
    cost: {
      ...{ day: '2026-06-01', partner: 'acme_ads-1', campaign: ' Spring é', ad_group: 'A', country: 'DE' },
      ...{ cost_micros: 300_000, currency: 'USD', clicks: 0, impressions: 1e12 },
    },
  })
  for (const nothing of [null, '']) {
    const fields = ['campaign', 'ad_group', 'country', 'clicks', 'impressions']
    expect(judge(Object.fromEntries(fields.map((field) => [field, nothing])))).toEqual(judge({}))
  }
  for (const [cost, cost_micros] of [
    [0, 0],
    [-0, 0],
    [999_999_999.999_999, 999_999_999_999_999],
    [1e9, 1e15],
    [0.000_001, 1],
  ]) {
    expect(judge({ cost })).toMatchObject({ cost: { cost_micros } })
    expect(Object.is((judge({ cost }) as { cost: { cost_micros: number } }).cost.cost_micros, -0)).toBe(false)
  }
  expect(judge({ campaign: 'a\ud800' })).toMatchObject({ cost: { campaign: 'a\ufffd' } })
})

test.each([
  ['missing_required_fields', 'day', [undefined, null, '']],
  ['missing_required_fields', 'partner', [undefined, null, '']],
  ['missing_required_fields', 'cost', [undefined, null, '']],
  ['missing_required_fields', 'currency', [undefined, null, '']],
  [
    'bad_day',
    'day',
    [
      '2014-12-31',
      '2026-06-03',
      '2026-02-29',
      '2026-13-01',
      '2026-6-1',
      '20260601',
      ' 2026-06-01',
      1,
      {},
      '2026-06-01\n',
    ],
  ],
  ['bad_field', 'partner', ['organic', 'ORGANIC', 'a b', 'é', 'x'.repeat(65), 7, ['acme']]],
  ['bad_field', 'campaign', ['x'.repeat(129), 'a\u0000b', '\u009f', 7, {}, []]],
  ['bad_field', 'ad_group', ['x'.repeat(129), 'a\nb', 7]],
  ['bad_country', 'country', ['XX', 'DEU', 'd', 'ß', 'ıt', 7, ['DE']]],
  ['bad_cost', 'cost', [-0.01, 1e9 + 0.01, '1', true, Number.NaN, Number.POSITIVE_INFINITY, {}]],
  ['unknown_currency', 'currency', ['XXX', 'XTS', 'EURO', '€', 7]],
  ['bad_field', 'clicks', [-1, 1.5, '1', 1e12 + 1, true]],
  ['bad_field', 'impressions', [-1, 1.5, '1', 1e12 + 1]],
] as const)('%s: %s', (reason, field, values) => {
  for (const value of values) expect([value, faultOf({ [field]: value })]).toEqual([value, [reason, field]])
})

test('days reach from 2015 to tomorrow UTC', () => {
  for (const day of ['2015-01-01', '2024-02-29', '2026-06-02'])
    expect([day, faultOf({ day })]).toEqual([day, 'accepted'])
})

test('a misspelt field is rejected and named: the costs of all ad groups would be one', () => {
  expect(faultOf({ adgroup: 'a' })).toEqual(['bad_field', 'adgroup'])
  expect(judgeCost(JSON.parse(`{"__proto__": 1, ${JSON.stringify(good).slice(1)}`), now_ms)).toMatchObject({
    fault: { reason: 'bad_field', field: '__proto__' },
  })
  expect(judge({ ['x'.repeat(1000)]: 1 })).toMatchObject({ fault: { field: 'x'.repeat(limits.campaign_chars_max) } })
})

test('what is no object lacks its fields', () => {
  for (const sent of [null, 7, 'x', [], true]) {
    expect(judgeCost(sent, now_ms)).toMatchObject({ fault: { reason: 'missing_required_fields' } })
  }
})

test('of a key that comes twice the last one counts, and both are accepted', () => {
  const { costs, answer } = judgeCosts(
    [good, { ...good, partner: 'ACME', cost: 2 }, { ...good, country: 'fr' }, { ...good, cost: 'x' }],
    now_ms,
  )
  expect(costs.map(({ country, cost_micros }) => [country, cost_micros])).toEqual([
    ['', 2e6],
    ['FR', 1.5e6],
  ])
  expect(answer).toMatchObject({ accepted: 3, rejected: 1 })
  expect(answer.results.map(({ reason }) => reason)).toEqual([undefined, undefined, undefined, 'bad_cost'])
})
