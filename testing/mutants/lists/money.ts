// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code
import type { Mutant } from '../mutant.ts'

const count_money = 'packages/domain/src/money/count-money.ts'
const count_money_tests = ['packages/domain/test/money/count-money.domain.test.ts']

/** Amounts, claims on transactions, exchange rates. */
export const moneyMutants: readonly Mutant[] = [
  {
    rule: 'docs/rules.md#revenue',
    promise: 'a refund subtracts the absolute value',
    file: 'packages/domain/src/event-row.ts',
    from: '(value < 0 || isRefund(event_name))',
    to: 'value < 0 !== isRefund(event_name)',
    tests: ['packages/domain/test/event-row.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#revenue',
    promise: 'micros are rounded, not cut off',
    file: 'packages/domain/src/event-row.ts',
    from: 'Math.round(Math.abs(value) * 1e6)',
    to: 'Math.trunc(Math.abs(value) * 1e6)',
    tests: ['packages/domain/test/event-row.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#usd',
    promise: 'negative sums are rounded as positive ones',
    file: 'packages/domain/src/money/money-usd.ts',
    from: '(twice < 0n ? twice - under : twice + under)',
    to: '(twice + under)',
    tests: ['packages/domain/test/money/money-usd.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#usd',
    promise: 'an amount has the rate of its own day',
    file: 'packages/tenancy/src/fx-rates.ts',
    from: 'own.day <= wanted.day',
    to: 'own.day < wanted.day',
    tests: ['packages/tenancy/test/fx-rates.contract.test.ts'],
  },
  {
    rule: 'docs/rules.md#money-once',
    promise: 'a bulk request has the rank of a backend',
    file: 'packages/domain/src/event-key.ts',
    from: "source === 'sdk' ? claimRanks.sdk : claimRanks.backend",
    to: "source === 's2s' ? claimRanks.backend : claimRanks.sdk",
    tests: ['packages/domain/test/claim-rank.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#money-once',
    promise: 'a transaction counts once for each event name',
    file: 'packages/domain/src/event-key.ts',
    from: '`transaction\\0${event_name}\\0${transaction_id}`',
    to: '`transaction\\0${transaction_id}`',
    tests: ['packages/domain/test/event-row.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#money-once',
    promise: 'among equal claims of a partition the first on the log counts',
    file: count_money,
    from: 'byRank(claim, earlier) < 0',
    to: 'byRank(claim, earlier) <= 0',
    tests: count_money_tests,
  },
  {
    rule: 'docs/rules.md#money-once',
    promise: 'a later claim of a backend beats one of an SDK',
    file: 'packages/domain/src/money/claims.ts',
    from: '  b.claim_rank - a.claim_rank || a.received_at_ms',
    to: '  a.received_at_ms',
    tests: count_money_tests,
  },
  {
    rule: 'docs/decisions/money.md#claims-on-a-transaction-have-ranks',
    promise: 'a repeated batch makes the same rows: its own claims decide nothing',
    file: count_money,
    from: 'else if (claim.offset < range.from && beats(',
    to: 'else if (beats(',
    tests: count_money_tests,
  },
  {
    rule: 'docs/rules.md#money-once',
    promise: 'between partitions the rank decides before the time',
    file: 'packages/domain/src/money/claims.ts',
    from: '  b.claim_rank - a.claim_rank || a.received_at_ms - b.received_at_ms',
    to: '  a.received_at_ms - b.received_at_ms || b.claim_rank - a.claim_rank',
    tests: ['services/event-writer/test/money/transactions.clickhouse.test.ts'],
    only: 'a phone cannot silence a backend',
  },
  {
    rule: 'docs/rules.md#money-once',
    promise: 'between partitions the lowest one wins among equals',
    file: 'packages/domain/src/money/claims.ts',
    from: '  a.partition - b.partition ||\n  a.offset - b.offset ||',
    to: '  a.offset - b.offset ||\n  a.partition - b.partition ||',
    tests: ['services/event-writer/test/money/one-request.clickhouse.test.ts'],
    only: 'among installs of several partitions the lowest partition has it',
  },
]
