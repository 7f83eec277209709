import { claimRanks } from '@tributary/contracts/rows'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chooseClaims, type ReceiptClaim } from '../../src/money/choose-claims.ts'

const { sdk, backend, receipt, store } = claimRanks
const usd = (amount: number) => ({ amount_micros: amount * 1e6, currency: 'USD' })
const eur = (amount: number) => ({ amount_micros: amount * 1e6, currency: 'EUR' })

/** A purchase of 5 USD that an SDK sent, unless it says otherwise. */
const claim = (more: Partial<ReceiptClaim> = {}): ReceiptClaim => ({
  ...{ install_uuid: 'i-1', event_name: 'purchase', rank: sdk, received_at_ms: 0 },
  ...{ topic: 'events@log', partition: 0, offset: 0, event_key: '1', day: '2026-06-01' },
  ...{ stated: usd(5), price: null },
  ...more,
})
const refund = (more: Partial<ReceiptClaim> = {}) =>
  claim({ event_name: 'purchase_refunded', stated: usd(-5), ...more })

const open = { charge: false, refund: false }
const closed = { charge: true, refund: true }

/** What counts of each claim: units of its currency, `null` for nothing. */
const counts = (claims: ReceiptClaim[], is_closed = open) => {
  const chosen = chooseClaims(claims, is_closed)
  expect(chosen.size).toBe(claims.length)
  return claims.map((one) => {
    const { money } = chosen.get(one)!
    return money === null ? null : `${money.amount_micros / 1e6} ${money.currency}`
  })
}

test.each<[string, ReceiptClaim[], (string | null)[]]>([
  ['one alone counts', [claim()], ['5 USD']],
  [
    'a backend counts before an SDK that came first',
    [claim(), claim({ rank: backend, received_at_ms: 9 })],
    [null, '5 USD'],
  ],
  [
    'a receipt counts before a backend',
    [claim({ rank: backend }), claim({ rank: receipt, received_at_ms: 9 })],
    [null, '5 USD'],
  ],
  [
    'the store counts before a receipt',
    [claim({ rank: receipt }), claim({ rank: store, received_at_ms: 9 })],
    [null, '5 USD'],
  ],
  [
    'of equals the first received counts',
    [claim({ received_at_ms: 2 }), claim({ received_at_ms: 1 })],
    [null, '5 USD'],
  ],
  ['then the lower partition', [claim({ partition: 1 }), claim({ offset: 7 })], [null, '5 USD']],
  ['then the lower offset', [claim({ offset: 8 }), claim({ offset: 7 })], [null, '5 USD']],
  ['then the earlier day', [claim({ day: '2026-06-02' }), claim()], [null, '5 USD']],
  ['then the lower key, as a number', [claim({ event_key: '10' }), claim({ event_key: '9' })], [null, '5 USD']],
  ['without the word of a store each name counts', [claim(), claim({ event_name: 'subscribe' })], ['5 USD', '5 USD']],
  [
    'the word of a store joins all names, on whichever it is',
    [claim({ rank: backend }), claim({ event_name: 'subscribe', rank: receipt }), claim({ event_name: 'coins' })],
    [null, '5 USD', null],
  ],
  ['a refund counts beside its charge', [claim({ rank: receipt }), refund({ rank: store })], ['5 USD', '-5 USD']],
  ['what a store took back counts only beside a charge', [refund({ rank: store })], [null]],
  ['a refund that no store confirmed counts by itself', [refund({ rank: backend })], ['-5 USD']],
  [
    'one of all refunds counts, whatever their names',
    [claim(), refund({ event_name: 'subscription_refunded', rank: backend }), refund({ rank: store })],
    ['5 USD', null, '-5 USD'],
  ],
  [
    'a receipt of the charge joins no names of refunds',
    [claim({ rank: receipt }), refund(), refund({ event_name: 'subscription_refunded' })],
    ['5 USD', '-5 USD', '-5 USD'],
  ],
  ['the price of the store counts', [claim({ rank: receipt, price: eur(4.99) })], ['4.99 EUR']],
  [
    'a charge has its own sign, whatever the event says',
    [claim({ rank: receipt, stated: usd(-5), price: eur(4) })],
    ['4 EUR'],
  ],
  [
    'a price has no sign: a refund takes it away',
    [claim(), refund({ rank: receipt, price: eur(4) })],
    ['5 USD', '-4 EUR'],
  ],
  [
    'what a family shares counts, and is nothing',
    [claim({ rank: receipt, price: eur(0) }), claim({ rank: backend })],
    ['0 EUR', null],
  ],
])('%s', (_promise, claims, expected) => {
  expect(counts(claims)).toEqual(expected)
  expect(counts(claims.toReversed())).toEqual(expected.toReversed())
  expect(counts(claims, closed)).toEqual(claims.map(() => null))
})

test('a closed charge closes no refund of others, and a closed refund no charge', () => {
  const claims = [claim({ rank: receipt }), refund()]
  expect(counts(claims, { charge: false, refund: true })).toEqual(['5 USD', null])
  expect(counts(claims, { charge: true, refund: false })).toEqual([null, '-5 USD'])
})

test('the price of nothing is no refund of less than nothing', () => {
  const [of_zero] = [...chooseClaims([claim(), refund({ rank: receipt, price: eur(0) })], open).values()].toReversed()
  expect(of_zero!.money!.amount_micros).toBe(0)
})

test('who named the amount stands beside it, and nobody where nothing counts', () => {
  const claims = [claim({ rank: store, price: eur(4) }), claim({ rank: receipt }), refund()]
  expect([...chooseClaims(claims, open).values()].map(({ price_source }) => price_source)).toEqual([
    'store',
    null,
    'event',
  ])
})

test('only a receipt that counts for another install is reused', () => {
  const claims = [
    claim({ rank: receipt }),
    claim({ rank: receipt, received_at_ms: 1 }),
    claim({ rank: receipt, received_at_ms: 2, install_uuid: 'i-2' }),
    claim({ rank: backend, install_uuid: 'i-2' }),
    claim({ install_uuid: 'i-3' }),
  ]
  const chosen = chooseClaims(claims, open)
  expect(claims.map((one) => chosen.get(one)!.reused)).toEqual([false, false, true, false, false])
  expect(chooseClaims([claims[2]!], closed).get(claims[2]!)!.reused).toBe(false)
})

test('of any claims one charge and one refund of a confirmed transaction count at most, in whatever order they are read', () => {
  const any = fc.record({
    rank: fc.constantFrom(sdk, backend, receipt, store),
    event_name: fc.constantFrom('purchase', 'subscribe', 'purchase_refunded', 'subscription_refunded'),
    received_at_ms: fc.nat(2),
    install_uuid: fc.constantFrom('i-1', 'i-2'),
  })
  fc.assert(
    fc.property(fc.array(any, { maxLength: 8 }), (given) => {
      const claims = given.map((more, offset) => claim({ ...more, offset }))
      const chosen = chooseClaims(claims, open)
      const backwards = chooseClaims(claims.toReversed(), open)
      for (const one of claims) expect(backwards.get(one)).toEqual(chosen.get(one))
      for (const is_refund of [true, false]) {
        const of = claims.filter(({ event_name }) => event_name.endsWith('_refunded') === is_refund)
        if (of.some(({ rank }) => rank >= receipt))
          expect(of.filter((one) => chosen.get(one)!.money !== null).length).toBeLessThanOrEqual(1)
      }
    }),
  )
})
