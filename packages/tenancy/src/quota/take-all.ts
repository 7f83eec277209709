import type { MonthCounter } from './month-counter.ts'

/** What a request takes of one counter. */
export interface Take {
  counter: Pick<MonthCounter, 'take' | 'giveBack' | 'used'>
  n: number
  /** null: no cap. A take of 0 is refused once the cap is reached. */
  cap: number | null
  /** The total with what was taken; 0 before. */
  total: number
}

/**
 * Takes all or none, side by side. Returns the first that was refused, null when all were taken. Meanwhile a request that
 * is refused for one counter holds what it took of others.
 */
export async function takeAll(takes: readonly Take[], ttl_ms: number): Promise<Take | null> {
  // What is probably refused is tried first: then a flood beyond a cap costs the counters one step a request.
  const doubtful = takes.filter(({ counter, n, cap }) => cap !== null && counter.used() + Math.max(1, n) > cap)
  const rounds = doubtful.length === 0 ? [takes] : [doubtful, takes.filter((one) => !doubtful.includes(one))]
  const taken: Take[] = []
  for (const round of rounds) {
    const totals = await Promise.all(round.map(({ counter, n, cap }) => counter.take(n, cap, ttl_ms)))
    let refused: Take | null = null
    for (const [at, one] of round.entries()) {
      const total = totals[at] ?? null
      if (total === null || (one.n === 0 && one.cap !== null && total >= one.cap)) refused ??= one
      else taken.push(Object.assign(one, { total }))
    }
    if (refused === null) continue
    await giveAllBack(taken, ttl_ms)
    return refused
  }
  return null
}

/** Never rejects. */
export async function giveAllBack(takes: readonly Take[], ttl_ms: number): Promise<void> {
  await Promise.all(takes.map(({ counter, n }) => counter.giveBack(n, ttl_ms)))
}
