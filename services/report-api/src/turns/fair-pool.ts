import { CodedError, retrySoon } from '@tributary/contracts/errors'

/** Who a report runs for. */
export interface Owner {
  company_id: string
  key_id: string
}

export interface PoolLimits {
  running_max: number
  company_running_max: number
  key_running_max: number
  key_waiting_max: number
  wait_ms_max: number
  run_ms_max: number
}

/** `line_full`: 429 at once; `waited`, `overran`: 503; `client_left`: nobody gets the answer. */
export type Refusal = 'line_full' | 'waited' | 'overran' | 'client_left'

export interface FairPool {
  /**
   * Runs `work` when its owner gets a slot. Throws `rate_limited` if too many reports of the key wait. Throws
   * `unavailable` after `wait_ms_max` of waiting or `run_ms_max` of running. If `signal` aborts while `work` waits, `work`
   * never runs. Work that continues a report which already had a slot goes before the new reports of its key, and is
   * never `rate_limited`.
   */
  run<Result>(owner: Owner, work: () => Promise<Result>, signal: AbortSignal, continues?: boolean): Promise<Result>
  counts(): { running: number; waiting: number }
}

interface Key {
  id: string
  running: number
  /** Starts each report that waits, the oldest first: those that continue, then the new ones. */
  continuing: Set<() => void>
  waiting: Set<() => void>
}
const waitingOf = ({ continuing, waiting }: Key): number => continuing.size + waiting.size
interface Company {
  id: string
  running: number
  /** The key that started a report most recently is last. */
  keys: Map<string, Key>
}

/**
 * Shares a few slots fairly (docs/decisions/reports.md#reports-take-fair-turns). A free slot goes to the company that runs the fewest
 * reports; among equals to the one that started a report longest ago. The same rule chooses a key of that company. The oldest report of
 * that key gets the slot.
 */
export function createFairPool(limits: PoolLimits, onRefused: (refusal: Refusal) => void = () => {}): FairPool {
  /** Companies with running or waiting reports. The one that started a report most recently is last. */
  const companies = new Map<string, Company>()
  let running = 0

  const mayStart = (key: Key) => waitingOf(key) > 0 && key.running < limits.key_running_max
  const hasTurn = ({ running, keys }: Company) =>
    running < limits.company_running_max && keys.values().some((key) => mayStart(key))

  function startNext(): void {
    while (running < limits.running_max) {
      const company = fewestRunning(companies, hasTurn)
      const key = company && fewestRunning(company.keys, mayStart)
      if (company === undefined || key === undefined) return
      const line = key.continuing.size > 0 ? key.continuing : key.waiting
      const start = line.values().next().value!
      line.delete(start)
      count(company, key, 1)
      moveLast(companies, company)
      moveLast(company.keys, key)
      start()
    }
  }

  function count(company: Company, key: Key, change: 1 | -1): void {
    running += change
    company.running += change
    key.running += change
  }

  function forgetIdle(company: Company, key: Key): void {
    if (key.running === 0 && waitingOf(key) === 0) company.keys.delete(key.id)
    if (company.keys.size === 0) companies.delete(company.id)
  }

  function release(company: Company, key: Key): void {
    count(company, key, -1)
    forgetIdle(company, key)
    startNext()
  }

  /** Takes a slot. Resolves with a function that releases it. */
  async function takeSlot({ company_id, key_id }: Owner, signal: AbortSignal, continues: boolean): Promise<() => void> {
    if (signal.aborted) throw refused('client_left')
    const company = entryOf(companies, { id: company_id, running: 0, keys: new Map() })
    const key = entryOf(company.keys, { id: key_id, running: 0, continuing: new Set(), waiting: new Set() })
    const line = continues ? key.continuing : key.waiting
    const slot = Promise.withResolvers<() => void>()
    const stopWaiting = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', leave)
    }
    const start = () => {
      stopWaiting()
      slot.resolve(() => release(company, key))
    }
    const giveUp = (refusal: Refusal) => {
      stopWaiting()
      line.delete(start)
      forgetIdle(company, key)
      slot.reject(refused(refusal))
    }
    const leave = () => giveUp('client_left')
    const timer = setTimeout(() => giveUp('waited'), limits.wait_ms_max)
    signal.addEventListener('abort', leave)
    line.add(start)
    startNext()
    // The key may use these slots, but other companies occupy them. As many more of its reports may wait.
    const withheld = Math.min(limits.key_running_max - key.running, limits.company_running_max - company.running)
    if (key.waiting.has(start) && key.waiting.size > limits.key_waiting_max + withheld) giveUp('line_full')
    return slot.promise
  }

  function refused(refusal: Refusal): CodedError {
    onRefused(refusal)
    return refusal === 'line_full'
      ? new CodedError('rate_limited', { message: 'Too many reports of this key at once.', headers: retrySoon })
      : new CodedError('unavailable', { message: messages[refusal] })
  }

  return {
    async run<Result>(owner: Owner, work: () => Promise<Result>, signal: AbortSignal, continues = false) {
      const giveBack = await takeSlot(owner, signal, continues)
      const answer = Promise.withResolvers<Result>()
      const timer = setTimeout(() => answer.reject(refused('overran')), limits.run_ms_max)
      // The slot is free when the work has ended, not when its time is up: the engine cannot cancel a statement.
      void (async () => work())()
        .then(answer.resolve, answer.reject)
        .finally(() => {
          clearTimeout(timer)
          giveBack()
        })
      return answer.promise
    },
    counts() {
      const keys = companies.values().flatMap((company) => company.keys.values())
      return { running, waiting: keys.reduce((sum, key) => sum + waitingOf(key), 0) }
    },
  }
}

const messages = {
  waited: 'Too many reports are in hand; this one waited too long.',
  overran: 'The report took too long; request a shorter window.',
  client_left: 'The client left.',
}

/** The known entry with the id of `fresh`; if there is none, `fresh` is added. */
function entryOf<Entry extends { id: string }>(entries: Map<string, Entry>, fresh: Entry): Entry {
  const entry = entries.get(fresh.id) ?? fresh
  entries.set(entry.id, entry)
  return entry
}

function fewestRunning<Entry extends { running: number }>(
  entries: ReadonlyMap<string, Entry>,
  mayStart: (entry: Entry) => boolean,
): Entry | undefined {
  let best: Entry | undefined
  for (const entry of entries.values()) {
    if (mayStart(entry) && (best === undefined || entry.running < best.running)) best = entry
  }
  return best
}

function moveLast<Entry extends { id: string }>(entries: Map<string, Entry>, entry: Entry): void {
  entries.delete(entry.id)
  entries.set(entry.id, entry)
}
