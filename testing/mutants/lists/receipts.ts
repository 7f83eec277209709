// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code
import type { Mutant } from '../mutant.ts'

const choose_claims = 'packages/domain/src/money/choose-claims.ts'
const choose_claims_tests = ['packages/domain/test/money/choose-claims.domain.test.ts']
const find_tests = ['testing/stories/receipts/find-receipts.clickhouse.test.ts']
const judge_tests = ['testing/stories/receipts/judge-receipts.clickhouse.test.ts']
const late_tests = ['testing/stories/receipts/late-claims.clickhouse.test.ts']

/** Receipts of the stores, and the money that follows from them. */
export const receiptMutants: readonly Mutant[] = [
  {
    rule: 'docs/receipts.md#what-is-checked',
    promise: 'marks of Apple are those of the certificate that signed, not of bytes around it',
    file: 'packages/stores/src/apple/prove-signed.ts',
    from: 'return certificate.raw.equals(raw) ? [certificate] : []',
    to: 'return [certificate]',
    tests: ['packages/stores/test/app-receipt.domain.test.ts'],
  },
  {
    rule: 'docs/receipts.md#the-receipt-of-an-event',
    promise: 'a receipt that is too large is cut out of its event',
    file: 'packages/domain/src/accept/accept-batch.ts',
    from: 'let accepted = cutReceipt(event as AcceptedEvent)',
    to: 'let accepted = event as AcceptedEvent',
    tests: ['packages/domain/test/accept/cut-receipt.domain.test.ts'],
  },
  {
    rule: 'docs/receipts.md#the-receipt-of-an-event',
    promise: 'a batch with a receipt that was cut out does not go to the log as it came',
    file: 'services/ingest-gateway/src/judge/judge-batch.ts',
    from: 'accepted.length === events.length && accepted.every((event, n) => event === events[n])',
    to: 'accepted.length === events.length',
    tests: ['services/ingest-gateway/test/judge/judge-batch.domain.test.ts'],
  },
  {
    rule: 'docs/rules.md#money-once',
    promise: 'what a store confirmed counts before what a backend says',
    file: 'packages/tables/src/receipts/find-claims.ts',
    from: 'return is_confirmed ? Math.max(own, claimRanks.receipt) : own',
    to: 'return own',
    tests: late_tests,
    only: 'what a backend and an SDK say of a transaction after its verdict loses within one run',
  },
  {
    rule: 'docs/rules.md#money-once',
    promise: 'a confirmed transaction is one, whatever the names of its events',
    file: choose_claims,
    from: 'claims.some(isConfirmed) ? [claims] : Map.groupBy',
    to: 'claims.length === 0 ? [claims] : Map.groupBy',
    tests: choose_claims_tests,
  },
  {
    rule: 'docs/rules.md#money-once',
    promise: 'a refund of the store counts only beside its charge',
    file: choose_claims,
    from: 'is_closed.refund || (refunded.some(isConfirmed) && !is_charged)',
    to: 'is_closed.refund',
    tests: choose_claims_tests,
  },
  {
    rule: 'docs/decisions/erasure.md#erased-claims-stay',
    promise: 'nobody inherits the money of a closed transaction',
    file: choose_claims,
    from: 'is_closed ? countsNothing : choiceOf(best)',
    to: 'choiceOf(best)',
    tests: choose_claims_tests,
  },
  {
    rule: 'docs/receipts.md#verdicts-and-reasons',
    promise: 'a store that is away takes no verdict back',
    file: 'packages/tables/src/receipts/choose-money.ts',
    from: '  !isWeaker(one, held) &&\n',
    to: '',
    tests: judge_tests,
    only: 'a confirmed verdict stays when the log is read again',
  },
  {
    rule: 'docs/receipts.md#the-receipt-of-an-event',
    promise: 'an event id on two days of one record is two events',
    file: 'packages/tables/src/receipts/event-places.ts',
    from: '`${day}/${event_key}/${topic}/${partition}/${offset}`',
    to: '`${event_key}/${topic}/${partition}/${offset}`',
    tests: find_tests,
    only: 'one event id on several days of one record is judged on each',
  },
  {
    rule: 'docs/receipts.md#the-receipt-of-an-event',
    promise: 'a duplicate of an event without a receipt is not judged',
    file: 'services/receipt-validator/src/receipt-finder.ts',
    from: '    names.add(nameOf(place))\n    const receipt = receiptOf(event)\n',
    to: '    const receipt = receiptOf(event)\n    if (receipt !== null) names.add(nameOf(place))\n',
    tests: find_tests,
    only: 'a duplicate is never judged',
  },
  {
    rule: 'docs/rules.md#money-once',
    promise: 'each late claim on a transaction is joined',
    file: 'services/receipt-validator/src/join-late-claims.ts',
    from: 'chosen.get(nameOf(one)) !== one.written_ms',
    to: '!chosen.has(nameOf(one))',
    tests: late_tests,
    only: 'what a backend and an SDK say of a transaction after its verdict loses within one run',
  },
  {
    rule: 'docs/rules.md#money-once',
    promise: 'a late charge brings its refund back',
    file: 'packages/tables/src/receipts/find-claims.ts',
    from: "arrayDistinct([claim_key, sipHash64('charge', id)])",
    to: '[claim_key]',
    tests: late_tests,
    only: 'a refund of the store counts once its charge comes',
  },
  {
    rule: 'docs/receipts.md#verdicts-and-reasons',
    promise: 'a refund is one of the purchase that counts, and is made once',
    file: 'packages/tables/src/receipts/choose-money.ts',
    from: ' && !confirmed.some(({ event_name }) => isRefund(event_name))',
    to: ' && !isRefund(charge.event_name)',
    tests: judge_tests,
    only: 'a refunded receipt on several installs is one charge and one refund',
  },
  {
    rule: 'docs/receipts.md#what-is-checked',
    promise: 'who guesses the id of a transaction has no receipt of it',
    file: 'packages/stores/src/apple/prove-signed.ts',
    from: "isSignedBy(chain[0]!, signer, content) ? null : 'bad_signature'",
    to: 'null',
    tests: ['packages/stores/test/app-receipt.domain.test.ts'],
    only: 'of a stranger beside those of Apple',
  },
]
