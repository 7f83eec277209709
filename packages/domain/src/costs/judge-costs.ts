import { type Cost, type CostReply, costKey } from '@tributary/contracts/costs'
import { findPartner, judgeCost } from './judge-cost.ts'

/** An upload of costs after its checks. */
export interface JudgedCosts {
  /** Those to store, one of a key. */
  costs: Cost[]
  answer: CostReply
}

/** Judges the costs of one upload. Of a key that comes twice the last one counts; all of them are accepted. */
export function judgeCosts(sent: readonly unknown[], now_ms: number): JudgedCosts {
  const costs = new Map<string, Cost>()
  const partners = new Map<unknown, string | null>()
  const partnerOf = (value: unknown) => {
    const known = partners.get(value)
    if (known !== undefined) return known
    const found = findPartner(value)
    partners.set(value, found)
    return found
  }
  const results = sent.map((one): CostReply['results'][number] => {
    const judged = judgeCost(one, now_ms, partnerOf)
    if ('fault' in judged) return { status: 'rejected', ...judged.fault }
    costs.set(costKey(judged.cost), judged.cost)
    return { status: 'accepted' }
  })
  const accepted = results.filter(({ status }) => status === 'accepted').length
  return { costs: [...costs.values()], answer: { accepted, rejected: results.length - accepted, results } }
}
