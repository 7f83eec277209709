import { factoredUsd, sumUsd, usdFactor, usdRates } from '@tributary/domain/money/money-usd'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const usd = (micros: string) => ({ micros, rates: usdRates })

test.each([
  [['49'], 0],
  [['50'], 0.0001],
  [['-50'], -0.0001],
  [['-49'], 0],
  [['100000', '200000'], 0.3],
  [['20000000000000000000'], 2e13],
  [[], 0],
])('%j micros of USD are %d', (micros, expected) => {
  expect(sumUsd(micros.map(usd))).toBe(expected)
})

test('EUR, a currency per EUR, and USD add up', () => {
  const rates = { usd: '1.1919', units: '183.59' }
  expect(sumUsd([{ micros: '10000000', rates: { usd: '1.1919', units: '1' } }])).toBe(11.919)
  expect(sumUsd([{ micros: '1000000000', rates }])).toBe(6.4922) // 1000 JPY: 1000 * 1.1919 / 183.59 = 6.49218...
  expect(sumUsd([{ micros: '1000000000', rates }, usd('1000000'), { micros: '-1000000000', rates }])).toBe(1)
})

test('rounding comes once, at the end, so parts that are nothing alone are something together', () => {
  const third = { micros: '40', rates: { usd: '1', units: '3' } } // 0.0000133... USD
  expect(sumUsd([third])).toBe(0)
  expect(sumUsd([third, third, third])).toBe(0)
  expect(sumUsd(Array.from({ length: 4 }, () => third))).toBe(0.0001)
})

test('a sum that is shared out is rounded after the division', () => {
  expect(sumUsd([usd('250')], 2)).toBe(0.0001) // 0.000125; 0.0003 shared by two would be 0.0002
  expect(sumUsd([usd('10000000'), { micros: '-1', rates: { usd: '1.1', units: '0.7' } }], 3)).toBe(3.3333)
})

test('the amounts of a month of days in every currency, and many more, are added in a moment', () => {
  const amounts = Array.from({ length: 20_000 }, (_, n) => ({
    micros: String(1_000_000 + n),
    rates: { usd: '1.0837', units: `${100 + n}.5919` },
  }))
  const started = performance.now()
  expect(sumUsd(amounts)).toBeCloseTo(
    amounts.reduce((sum, { micros, rates }) => sum + (Number(micros) / 1e6) * (1.0837 / Number(rates.units)), 0),
    3,
  )
  expect(performance.now() - started).toBeLessThan(10_000)
})

test('any amounts at any rates equal long division', () => {
  const rate = fc.tuple(fc.integer({ min: 1, max: 10 ** 9 }), fc.integer({ min: 0, max: 6 }))
  const text = ([digits, places]: [number, number]) => {
    const padded = String(digits).padStart(places + 1, '0')
    return places === 0 ? padded : `${padded.slice(0, -places)}.${padded.slice(-places)}`
  }
  const amount = fc.record({ micros: fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), usd: rate, units: rate })
  fc.assert(
    fc.property(fc.array(amount, { maxLength: 6 }), (amounts) => {
      // Each amount to 60 decimal places of a 4th place of a USD, cut off: far finer than what decides the rounding.
      const fine = 10n ** 60n
      const total = amounts.reduce((sum, { micros, usd, units }) => {
        const over = micros * BigInt(usd[0]) * 10n ** BigInt(units[1]) * fine
        return sum + over / (BigInt(units[0]) * 10n ** BigInt(usd[1]) * 100n)
      }, 0n)
      const whole = total < 0n ? -total : total
      const near = whole % fine
      fc.pre(near < fine / 2n - 10n ** 10n || near > fine / 2n + 10n ** 10n)
      const places = (whole + fine / 2n) / fine
      const expected = Number(total < 0n ? -places : places) / 10_000
      const given = amounts.map(({ micros, usd, units }) => ({
        micros: micros.toString(),
        rates: { usd: text(usd), units: text(units) },
      }))
      expect(sumUsd(given)).toBe(expected)
    }),
  )
})

test('sums of micros times factors are rounded as exact sums are, halves too', () => {
  const few = fc.integer({ min: 1, max: 30 }).map(String)
  const rates = fc.record({
    usd: fc.oneof(few, fc.constantFrom('1.0837', '0.00005')),
    units: fc.oneof(few, fc.constantFrom('163.59')),
  })
  const micros = fc.oneof(
    fc.integer({ min: -400, max: 400 }).map(String),
    fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }).map(String),
  )
  const sharers = fc.integer({ min: 1, max: 4 })
  fc.assert(
    fc.property(fc.array(fc.record({ micros, rates }), { maxLength: 6 }), sharers, (amounts, sharers) => {
      const sum = amounts.reduce((total, { micros, rates }) => total + BigInt(micros) * usdFactor(rates), 0n)
      expect(factoredUsd(sum, sharers)).toBe(sumUsd(amounts, sharers))
    }),
    { numRuns: 2000 },
  )
})
