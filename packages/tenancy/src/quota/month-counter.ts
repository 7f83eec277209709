import type { KeyValue } from '@tributary/key-value/key-value'
import type { CountersBreaker } from './counters-breaker.ts'

/**
 * How long a lease may be held: far less than a reconciliation waits for reservations to end
 * (docs/decisions/door.md#the-quota-is-reconciled-at-checkpoints).
 */
export const lease_ms = 1000
/** Largest lease of a counter of events. */
export const lease_events_max = 5000
/** Largest lease of a counter of bytes, which nothing reconciles: a crash strands it until the month is over. */
export const lease_bytes_max = 4 * 1024 * 1024
/** Smaller caps, and the last fifth of a cap, are counted step by step. */
const lease_cap_min = 100_000
const lease_cap_share = 0.8
/** Largest lease as a share of the cap. */
const lease_share_max = 0.01
/** Steps within `lease_ms` before there is a lease. */
const lease_after_steps = 3
/** A lease that does not serve this many requests like the one at hand saves too little. */
const lease_requests_min = 4

export interface MonthCounterDeps {
  key: string
  keyValue: Pick<KeyValue, 'addCapped'>
  breaker: CountersBreaker
  /** What may be reserved before it comes, at most; a crash strands it. 0: nothing. */
  lease_max: number
  /** Counts what was taken by what this process knows alone, and what could not be given back. */
  metrics: { alone: { inc(n: number): void }; kept: { inc(n: number): void } }
}

/** A counter of a company and month, of events or bytes, shared by all processes, as this process knows it. */
export interface MonthCounter {
  /** The new total, null when it would pass the cap. A total leaves out what this process holds ahead. */
  take(n: number, cap: number | null, ttl_ms: number): Promise<number | null>
  /** Never rejects. */
  giveBack(n: number, ttl_ms: number): Promise<void>
  /** The last known total. */
  used(): number
  /** Gives back what is held ahead. Never rejects. */
  close(): Promise<void>
}

interface Waiting {
  n: number
  cap: number | null
  resolve(total: number | null): void
}

/** What this process has reserved before it came, for requests that know the same cap. */
interface Lease {
  left: number
  cap: number | null
  /** The mark that the counter had: all of the lease was reserved after it, so it is not in it. */
  mark_id: string | null
}

/**
 * Counts in atomic steps of the shared counters. Requests that come while a step is under way share the next one. Under
 * steady traffic a step also reserves a lease of what is to come, which requests use up without a step; the rest of it is
 * given back after `lease_ms` (docs/decisions/door.md#quota-is-leased-under-load). While the counters are away the last known total and a
 * local count decide (docs/rules.md#counters-that-are-away).
 */
export function createMonthCounter({ key, keyValue, breaker, lease_max, metrics }: MonthCounterDeps): MonthCounter {
  const waiting: Waiting[] = []
  let running = false
  /** The last total that the counters answered, and what was accepted without them since then. */
  let known = 0
  let known_mark: string | null = null
  let alone = 0
  let lease: Lease | null = null
  let ending: { timer: NodeJS.Timeout; ttl_ms: number } | null = null
  let steps = 0
  let ahead = 0

  const used = () => known + alone - (lease?.left ?? 0)

  async function step(
    n: number,
    cap: number | null,
    ttl_ms: number,
    mark_id: string | null = null,
  ): Promise<'added' | 'refused' | 'away'> {
    const answer = await breaker(() => keyValue.addCapped(key, n, cap, ttl_ms, mark_id))
    if (answer === null) return 'away'
    known = answer.total
    known_mark = answer.mark_id
    alone = 0
    return answer.added ? 'added' : 'refused'
  }

  /** The new total, null when it would pass the cap. */
  async function add(n: number, cap: number | null, ttl_ms: number): Promise<number | null> {
    const done = await step(n, cap, ttl_ms)
    if (done === 'added') return used()
    if (done === 'refused') return null
    metrics.alone.inc(n)
    if (cap !== null && used() + n > cap) return null
    alone += n
    return used()
  }

  /** Uses the lease where it suffices. */
  function takeAhead(n: number, cap: number | null): number | null {
    if (lease === null || n === 0 || lease.cap !== cap || lease.left < n) return null
    lease.left -= n
    return used()
  }

  /** What the next step shall hold ahead: more and more while leases are used up before they end. */
  function wanted(n: number, cap: number | null): number {
    if (n === 0 || steps <= lease_after_steps || (cap !== null && cap < lease_cap_min)) return 0
    const share = cap === null ? lease_max : Math.floor(cap * lease_share_max)
    ahead = Math.min(lease_max, share, Math.max(2 * ahead, lease_requests_min * n))
    const fits = cap === null || known + n + ahead <= cap * lease_cap_share
    return fits && ahead >= lease_requests_min * n ? ahead : 0
  }

  /** Adds `n` and makes a new lease in one step; null when there shall be none, or the counters do not take it. */
  async function addWithLease(n: number, cap: number | null, ttl_ms: number): Promise<number | null> {
    const former = lease
    if (former !== null && former.cap !== cap) return null
    const more = wanted(n, cap)
    if (more === 0) return null
    lease = null // so that it is not given back meanwhile
    const left = former?.left ?? 0
    const done = await step(n + more - left, cap === null ? null : cap * lease_cap_share, ttl_ms)
    // The rest of the former lease is used up by these requests: the new one is all of this step.
    lease = done === 'added' ? { left: more, cap, mark_id: known_mark } : former
    openWindow(ttl_ms)
    return done === 'added' ? used() : null
  }

  /** Counts steps, and ends a lease, `lease_ms` after the first step. */
  function openWindow(ttl_ms: number) {
    if (ending !== null) return
    const timer = setTimeout(() => void closeWindow(), lease_ms).unref()
    ending = { timer, ttl_ms }
  }

  async function closeWindow(): Promise<void> {
    if (ending === null) return
    const { timer, ttl_ms } = ending
    clearTimeout(timer)
    ending = null
    steps = 0
    await endLease(ttl_ms)
  }

  async function endLease(ttl_ms: number) {
    const { left, mark_id } = lease ?? { left: 0, mark_id: null }
    lease = null
    if (left > ahead / 2) ahead = 0
    await giveBack(left, ttl_ms, mark_id)
  }

  async function giveBack(n: number, ttl_ms: number, mark_id: string | null = null): Promise<void> {
    if (n === 0) return
    if (alone >= n) alone -= n
    else if ((await step(-n, null, ttl_ms, mark_id)) === 'away') metrics.kept.inc(n)
  }

  /** One step for all that wait, else one for each: together they may pass a cap that some of them fit under. */
  async function drain(ttl_ms: number): Promise<void> {
    running = true
    while (waiting.length > 0) {
      const taken = waiting.splice(0).filter((one) => {
        const total = takeAhead(one.n, one.cap)
        if (total !== null) one.resolve(total)
        return total === null
      })
      if (taken.length > 0) await addAll(taken, ttl_ms)
    }
    running = false
  }

  async function addAll(taken: readonly Waiting[], ttl_ms: number) {
    openWindow(ttl_ms)
    steps += 1
    const cap = taken[0]!.cap
    const sum = taken.reduce((total, { n }) => total + n, 0)
    const isOneCap = taken.every((one) => one.cap === cap)
    const total = isOneCap ? ((await addWithLease(sum, cap, ttl_ms)) ?? (await add(sum, cap, ttl_ms))) : null
    let so_far = (total ?? 0) - sum
    for (const one of taken) {
      so_far += one.n
      if (total !== null) one.resolve(so_far)
      else one.resolve(taken.length === 1 ? null : await add(one.n, one.cap, ttl_ms))
    }
  }

  return {
    take(n, cap, ttl_ms) {
      const total = running ? null : takeAhead(n, cap)
      if (total !== null) return Promise.resolve(total)
      const { promise, resolve } = Promise.withResolvers<number | null>()
      waiting.push({ n, cap, resolve })
      if (!running) void drain(ttl_ms)
      return promise
    },
    giveBack: (n, ttl_ms) => giveBack(n, ttl_ms),
    used,
    close: closeWindow,
  }
}
