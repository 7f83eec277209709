import { createHmac, randomBytes } from 'node:crypto'
import { refusalsKey } from '@tributary/contracts/admin/live/feed'
import { limits } from '@tributary/contracts/limits'
import { addressBlock } from '@tributary/contracts/networks'
import type { KeyValue } from '@tributary/key-value/key-value'
import { type Answered, keptOf, readItems } from './request-fate.ts'

export interface KeptRefusals {
  /** Takes note of a request that was refused, or some of whose events were rejected. */
  note(answered: Answered): void
  /** Writes what was noted; what the store does not take is lost. */
  flush(): Promise<void>
}

/** Keeps the last refusals of each app and code, whether or not somebody watches. Bounded in memory and in writes. */
export function createKeptRefusals({ keyValue }: { keyValue: Pick<KeyValue, 'append'> }): KeptRefusals {
  const waiting = createWaiting()
  const mayKeep = createBlockShares()
  const budget = createReadBudget()
  let flushing = false

  return {
    note(answered) {
      const { app_id, company_id, request } = answered
      const mayRead = budget.isLeft(answered)
      if (!mayRead && request.ingest.code === 'ok') return
      const read = readItems(answered, limits.refusals_kept_max, mayRead)
      budget.spend(answered, read.bytes)
      for (const item of read.items) {
        if (item.code === null) continue
        const key = refusalsKey(app_id, item.code, item.unproven)
        if (!waiting.hasRoom(company_id, key)) return
        if (item.unproven && !mayKeep(key, request.client_ip, item.at_ms)) continue
        waiting.put(company_id, key, JSON.stringify(keptOf(item)))
      }
    },
    async flush() {
      budget.renew()
      if (flushing) return
      flushing = true
      const { refusals_of_flush_max, refusals_kept_max: max, refusals_kept_ms: ttl_ms } = limits
      const due = waiting.takeSome(refusals_of_flush_max)
      await Promise.allSettled(due.map(([key, text]) => keyValue.append(key, text, max, ttl_ms)))
      flushing = false
    },
  }
}

/** The bytes of bodies that are read between two flushes: of an app, of the apps of its company, and of all. */
function createReadBudget() {
  const spent = new Map<string, number>()
  const bounds = ({ app_id, company_id }: Answered) =>
    [
      [app_id, limits.refusals_read_bytes_max],
      [company_id, limits.refusals_read_bytes_of_company_max],
      ['', limits.refusals_read_bytes_of_all_max],
    ] as const
  return {
    isLeft: (answered: Answered) => bounds(answered).every(([holder, max]) => (spent.get(holder) ?? 0) < max),
    spend(answered: Answered, bytes: number): void {
      for (const [holder] of bounds(answered)) spent.set(holder, (spent.get(holder) ?? 0) + bytes)
    },
    renew: () => spent.clear(),
  }
}

/** Texts that wait to be written: the newest of each ring. */
function createWaiting() {
  const companies = new Map<string, Map<string, string[]>>()
  let rings_of_all = 0

  /** Takes the oldest text of a ring. Its company and its ring are the last ones now. */
  function takeOne(company_id: string, rings: Map<string, string[]>): [string, string] {
    const [[key, [text, ...others]]] = rings as unknown as [[string, [string, ...string[]]]]
    rings.delete(key)
    if (others.length > 0) rings.set(key, others)
    else rings_of_all -= 1
    companies.delete(company_id)
    if (rings.size > 0) companies.set(company_id, rings)
    return [key, text]
  }

  return {
    hasRoom(company_id: string, key: string): boolean {
      const rings = companies.get(company_id)
      if (rings?.has(key)) return true
      return rings_of_all < limits.refusals_waiting_max && (rings?.size ?? 0) < limits.refusals_waiting_of_company_max
    },
    put(company_id: string, key: string, text: string): void {
      const rings = companies.get(company_id) ?? new Map<string, string[]>()
      if (!rings.has(key)) rings_of_all += 1
      rings.set(key, [...(rings.get(key) ?? []), text].slice(-limits.refusals_kept_max))
      companies.set(company_id, rings)
    },
    /** Takes up to `max` texts, one of each company in rotation. */
    takeSome(max: number): [string, string][] {
      const taken: [string, string][] = []
      while (taken.length < max) {
        const [first] = companies
        if (first === undefined) break
        taken.push(takeOne(...first))
      }
      return taken
    },
  }
}

/**
 * Makes the function that says whether a ring of unproven refusals may have one more of an address block, and notes it: a stranger
 * alone cannot push out all others. What it remembers are keyed hashes, in memory alone.
 */
function createBlockShares() {
  const secret = randomBytes(32)
  /** Of the last texts of each ring; the ring that was used last is the last one. */
  const rings = new Map<string, { block: string; at_ms: number }[]>()

  return (key: string, address: string, at_ms: number): boolean => {
    const block = createHmac('sha256', secret).update(addressBlock(address)).digest('base64')
    const kept = (rings.get(key) ?? []).filter((text) => text.at_ms > at_ms - limits.refusals_kept_ms)
    if (kept.filter((text) => text.block === block).length >= limits.refusals_of_block_max) return false
    rings.delete(key)
    rings.set(key, [...kept, { block, at_ms }].slice(-limits.refusals_kept_max))
    const [oldest] = rings.keys()
    if (rings.size > limits.refusals_waiting_max) rings.delete(oldest!)
    return true
  }
}
