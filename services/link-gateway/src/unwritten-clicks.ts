import type { Click } from '@tributary/contracts/attribution/click'
import { limits } from '@tributary/contracts/limits'
import { addressNetwork } from '@tributary/contracts/networks'

/** Filtered clicks without a row of their own, counted until a row stands for them (docs/rules.md#tracking-links). */
export interface UnwrittenClicks {
  /** Counts a click that gets no row. */
  add(click: Click): void
  /** The click, with the weight of those like it that got no row before it. */
  weigh(click: Click): Click
  /** Gives all that is counted to `record`: the last click of each kind, with the weight of all. */
  flush(): void
}

/** Like clicks are those on one link, from one network, for one reason. A crash loses what is not flushed. */
export function countUnwritten(record: (click: Click) => unknown): UnwrittenClicks {
  const counted = new Map<string, { click: Click; count: number }>()
  const keyOf = ({ link_id, ip, filtered_reason }: Click) => `${link_id} ${addressNetwork(ip)} ${filtered_reason}`
  const weighted = (click: Click, weight: number): Click => (weight === 1 ? click : { ...click, weight })
  function give(key: string) {
    const { click, count } = counted.get(key)!
    counted.delete(key)
    record(weighted(click, count))
  }
  return {
    add(click) {
      const key = keyOf(click)
      counted.set(key, { click, count: (counted.get(key)?.count ?? 0) + 1 })
      if (counted.size > limits.unwritten_clicks_kinds_max) give(counted.keys().next().value!)
    },
    weigh(click) {
      const key = keyOf(click)
      const count = counted.get(key)?.count ?? 0
      counted.delete(key)
      return weighted(click, count + 1)
    },
    flush() {
      for (const key of counted.keys()) give(key)
    },
  }
}
