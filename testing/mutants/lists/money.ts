import type { Mutant } from '../mutant.ts'

/** Amounts, claims on transactions, exchange rates. */
export const moneyMutants: readonly Mutant[] = [
  {
    rule: 'docs/rules.md#revenue',
    promise: 'a refund subtracts the absolute value',
    file: 'packages/domain/src/event-row.ts',
    from: '(value < 0 || refunds.has(event_name))',
    to: 'value < 0 !== refunds.has(event_name)',
    tests: ['packages/domain/test/event-row.domain.test.ts'],
  },
]
