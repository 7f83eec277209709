import type { ReportRow } from '@tributary/contracts/reports'
import { Facts } from './facts.tsx'

type Judged = Pick<ReportRow<'receipts'>, 'verdict' | 'reason'>

/** What a verdict means, and what to do about it. */
interface Words {
  means: string
  /** Null: nothing. */
  todo: string | null
}

const ofVerdicts: Record<Judged['verdict'], Words> = {
  valid: { means: 'The store confirms the purchase.', todo: null },
  sandbox: { means: 'A purchase of a test: nobody paid.', todo: null },
  invalid: { means: 'The receipt proves nothing.', todo: 'Look at who sends it.' },
  unverified: {
    means: 'The store has not said whether it is genuine.',
    todo: 'Wait: the store is asked for 72 hours.',
  },
}

const made_up = 'Often a forged purchase: look at the installs.'
const by_app = 'Look at what your app sends as its receipt.'

/** By docs/receipts.md#verdicts-and-reasons. */
const ofReasons: Record<NonNullable<Judged['reason']>, Words> = {
  refunded: { means: 'A genuine purchase; the store has paid the money back.', todo: null },
  revoked: { means: 'A genuine purchase that a family shared and no longer shares.', todo: null },
  reused: {
    means: 'A genuine purchase that counts for another install.',
    todo: 'A restored purchase, or a receipt that is passed around: many of them are fraud.',
  },
  malformed: { means: 'It has none of the shapes of a receipt.', todo: by_app },
  receipt_too_large: { means: 'It is larger than 32 KiB.', todo: by_app },
  bad_signature: { means: 'Its signature is not that of its certificate.', todo: made_up },
  untrusted_chain: { means: 'Its certificates do not come from Apple.', todo: made_up },
  expired_certificate: { means: 'Its certificate was not valid on the date of the signature.', todo: made_up },
  wrong_bundle: { means: 'A purchase in another app.', todo: 'Check the bundle id or package name of the app here.' },
  wrong_product: { means: 'Another product than the event names.', todo: by_app },
  wrong_transaction: { means: 'Another transaction than the event names.', todo: by_app },
  wrong_environment: {
    means: 'Made by Xcode or in a local test.',
    todo: 'Find out who sent it, if it was none of your developers.',
  },
  not_found: { means: 'The store knows no such purchase.', todo: made_up },
  pending_purchase: { means: 'Google waits for the payment.', todo: 'Wait: Google is asked again.' },
  no_credentials: {
    means: 'The app has no credentials that the store takes.',
    todo: 'Set them on the page Apps and keys, and check them there.',
  },
  store_away: { means: 'The store gave no answer.', todo: 'Wait: it is asked for 72 hours.' },
}

export const verdictKinds = {
  valid: 'good',
  invalid: 'bad',
  unverified: 'warn',
  sandbox: '',
} as const satisfies Record<Judged['verdict'], string>

/** What each verdict and reason among these means, and what to do about it. */
export function ReceiptWords({ judged }: { judged: readonly Judged[] }) {
  const kinds = new Map(
    judged.map((one) => [nameOf(one), one.reason === null ? ofVerdicts[one.verdict] : ofReasons[one.reason]]),
  )
  return (
    <Facts
      facts={[...kinds].map(([name, { means, todo }]) => [
        name,
        <span key={name}>
          {means} {todo !== null && <strong>{todo}</strong>}
        </span>,
      ])}
    />
  )
}

const nameOf = ({ verdict, reason }: Judged): string =>
  reason === null ? verdict : `${verdict}, ${reason.replaceAll('_', ' ')}`
