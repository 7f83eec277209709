type InOrder = <Result>(costs: readonly string[], send: () => Promise<Result>) => Promise<Result>

/**
 * Sends batches of costs at once, except those that share a key: the service gives the later request the later number, and of a key that
 * a file has twice the last line must count. Keys are compared in one case, so some batches wait in vain.
 */
export function inOrderOfKeys(): InOrder {
  const open = new Set<{ keys: ReadonlySet<string>; ended: Promise<unknown> }>()
  return async (costs, send) => {
    const keys = new Set(costs.map(keyOf))
    const before = [...open].filter((other) => !keys.isDisjointFrom(other.keys)).map(({ ended }) => ended)
    const sent = Promise.allSettled(before).then(send)
    const batch = { keys, ended: sent }
    open.add(batch)
    return sent.finally(() => open.delete(batch))
  }
}

/** The fields that name a cost as one text. */
function keyOf(json: string): string {
  const { day, partner, campaign, ad_group, country } = JSON.parse(json)
  return JSON.stringify([day, partner, campaign || '', ad_group || '', country || '']).toLowerCase()
}
