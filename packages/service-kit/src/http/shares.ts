/** A limited amount that holders (companies, apps and client addresses) take and give back. */
export interface Shares {
  /** Takes `amount` for all of these holders or for none; false when it exceeds the share of one of them. */
  take(holders: readonly string[], amount: number): boolean
  /** Gives back what was taken for the same holders. */
  give(holders: readonly string[], amount: number): void
  /** Whether `take` would succeed. */
  fits(holders: readonly string[], amount: number): boolean
  /** The amount that all holders have together. */
  taken(): number
}

/** Who sent a request, as far as it is known. */
export interface Sender {
  company_id?: string | undefined
  app_id?: string | undefined
}

const company_prefix = 'company '
/** A company may have this many times what one of its apps may have, so that one app leaves room for the others. */
const company_shares = 2

/** The holders that a known sender is. */
export const senderHolders = ({ company_id, app_id }: Sender): readonly string[] => [
  ...(company_id === undefined ? [] : [`${company_prefix}${company_id}`]),
  ...(app_id === undefined ? [] : [`app ${app_id}`]),
]

/** The part of a held amount that is compared with what is free. */
export const countedOf = (holder: string, held: number): number =>
  holder.startsWith(company_prefix) ? held / company_shares : held

/**
 * Shares without fixed sizes: a holder may have as much as is left free. One that takes little by little gets half of
 * the total, two greedy ones a third each; a company with several apps gets two thirds. Who holds something never takes the last that is
 * free, and who holds nothing may have all of it. Network switches divide their buffers in this way (Choudhury and Hahne, "Dynamic queue length
 * thresholds", 1998).
 */
export function createShares(total: number): Shares {
  const heldBy = new Map<string, number>()
  let taken = 0
  const fits = (holders: readonly string[], amount: number) => {
    const free = total - taken
    return holders.every((holder) => countedOf(holder, heldBy.get(holder) ?? 0) + amount <= free)
  }
  function add(holder: string, amount: number) {
    const held = (heldBy.get(holder) ?? 0) + amount
    if (held === 0) heldBy.delete(holder)
    else heldBy.set(holder, held)
  }
  return {
    fits,
    take(holders, amount) {
      if (!fits(holders, amount)) return false
      for (const holder of holders) add(holder, amount)
      taken += amount
      return true
    },
    give(holders, amount) {
      for (const holder of holders) add(holder, -amount)
      taken -= amount
    },
    taken: () => taken,
  }
}
