import { claimRanks, refundEvents } from '@tributary/contracts/rows'

export interface Money {
  /** Signed micros of `currency`, refunds negative. */
  amount_micros: number
  /** ISO 4217 alpha-3 in upper case. */
  currency: string
}

/** A claim on the money of a transaction of a store (docs/rules.md#receipts-and-money). */
export interface ReceiptClaim {
  install_uuid: string
  event_name: string
  /** `claimRanks`: from `receipt` on a store has confirmed it. */
  rank: number
  received_at_ms: number
  topic: string
  partition: number
  offset: number
  /** Decides among the events of one record; unsigned decimal. */
  event_key: string
  day: string
  /** What the event says. */
  stated: Money
  /** What the store was paid, never negative; null where it names no price that has a rate. */
  price: Money | null
}

/** What counts of the money of an event. */
export interface Choice {
  /** Null: nothing. */
  money: Money | null
  /** Who named the amount; null when nothing counts. */
  price_source: 'store' | 'event' | null
  /** The transaction counts for another install. */
  reused: boolean
}

/** Whether nothing of a transaction counts as its charge, or as its refund: the money of its best claim was erased. */
export interface ClosedSides {
  charge: boolean
  refund: boolean
}

const refunds: ReadonlySet<string> = new Set(refundEvents)

/** Whether an event takes money back (docs/rules.md#revenue). */
export const isRefund = (event_name: string): boolean => refunds.has(event_name)

export const countsNothing: Choice = { money: null, price_source: null, reused: false }

/**
 * Chooses which of all claims on one transaction count: one charge, whatever the names of the events, and one refund. Without a claim that a
 * store confirmed each name has one, as without receipts. What a store took back counts only while the charge does.
 */
export function chooseClaims<Claim extends ReceiptClaim>(
  claims: readonly Claim[],
  is_closed: ClosedSides,
): Map<Claim, Choice> {
  const of_refund = Map.groupBy(claims, ({ event_name }) => isRefund(event_name))
  const charges = chooseAmong(of_refund.get(false) ?? [], is_closed.charge)
  const is_charged = [...charges.values()].some(({ money }) => money !== null)
  const refunded = of_refund.get(true) ?? []
  return new Map([
    ...charges,
    ...chooseAmong(refunded, is_closed.refund || (refunded.some(isConfirmed) && !is_charged)),
  ])
}

/** Whether a store stands behind a claim. */
export const isConfirmed = ({ rank }: ReceiptClaim): boolean => rank >= claimRanks.receipt

function chooseAmong<Claim extends ReceiptClaim>(claims: readonly Claim[], is_closed: boolean): Map<Claim, Choice> {
  const groups = claims.some(isConfirmed) ? [claims] : Map.groupBy(claims, ({ event_name }) => event_name).values()
  const chosen = new Map<Claim, Choice>()
  for (const group of groups) {
    const [best, ...others] = group.toSorted(byPrecedence)
    if (best === undefined) continue
    chosen.set(best, is_closed ? countsNothing : choiceOf(best))
    for (const other of others) {
      const reused = isConfirmed(other) && other.install_uuid !== best.install_uuid
      chosen.set(other, { ...countsNothing, reused })
    }
  }
  return chosen
}

/** A claim that counts, by what the store was paid where that is known. */
export function choiceOf({ event_name, stated, price }: Pick<ReceiptClaim, 'event_name' | 'stated' | 'price'>): Choice {
  if (price === null) return { money: stated, price_source: 'event', reused: false }
  const amount_micros = isRefund(event_name) ? 0 - price.amount_micros : price.amount_micros
  return { money: { ...price, amount_micros }, price_source: 'store', reused: false }
}

/** The order of all claims, which is the same in every process: rank, received time, log position. */
const byPrecedence = (a: ReceiptClaim, b: ReceiptClaim): number =>
  b.rank - a.rank ||
  a.received_at_ms - b.received_at_ms ||
  a.partition - b.partition ||
  a.offset - b.offset ||
  compare(a.topic, b.topic) ||
  compare(a.day, b.day) ||
  compare(a.event_key.padStart(20, '0'), b.event_key.padStart(20, '0'))

const compare = (a: string, b: string): number => Number(a > b) - Number(a < b)
