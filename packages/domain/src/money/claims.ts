/** Money of one transaction under one event name. */
export interface TransactionLookup {
  app_id: string
  /** Unsigned 64-bit decimal. */
  transaction_key: string
}

/** An event that counted the money of a transaction, with its time of receipt and its log position. */
export interface TransactionClaim extends TransactionLookup {
  /** UTC date of the event. */
  day: string
  /** Rank of the claim (`claimRanks`): a higher rank has the money, whenever the claim comes. */
  claim_rank: number
  received_at_ms: number
  topic: string
  partition: number
  offset: number
}

/** The identity of a transaction as one text. */
export const transactionOf = ({ app_id, transaction_key }: TransactionLookup): string => `${app_id}/${transaction_key}`

/**
 * The facts that decide between two claims of one log (docs/rules.md#money-once): a higher rank, then an earlier
 * receipt.
 */
export const byRank = (a: RankedClaim, b: RankedClaim): number =>
  b.claim_rank - a.claim_rank || a.received_at_ms - b.received_at_ms

type RankedClaim = Pick<TransactionClaim, 'claim_rank' | 'received_at_ms'>

/** The order of all claims, which is the same in every process: rank, received time, log position. */
const byPrecedence = (a: TransactionClaim, b: TransactionClaim): number =>
  byRank(a, b) ||
  a.partition - b.partition ||
  a.offset - b.offset ||
  (a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : 0)

/** All claims but the best of each transaction. */
export function beatenClaims(claims: readonly TransactionClaim[]): TransactionClaim[] {
  const best = bestClaims(claims)
  return claims.filter((claim) => byPrecedence(claim, best.get(transactionOf(claim))!) > 0)
}

/** The best claim of each transaction, by `transactionOf`. */
export function bestClaims<Claim extends TransactionClaim>(claims: readonly Claim[]): Map<string, Claim> {
  const best = new Map<string, Claim>()
  for (const claim of claims) {
    const transaction = transactionOf(claim)
    const other = best.get(transaction)
    if (other === undefined || byPrecedence(claim, other) < 0) best.set(transaction, claim)
  }
  return best
}
