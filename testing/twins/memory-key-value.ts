import type { KeyValue } from '@tributary/key-value/key-value'
import { openRings } from '@tributary/key-value/rings'

export interface MemoryKeyValue extends KeyValue {
  totals: Map<string, number>
  /** When set, every call rejects with it. */
  fault: Error | null
}

/** Counters in memory, for tests that read them or make them fail. They never expire, and the store is never ready. */
export function memoryKeyValue(now: () => number): MemoryKeyValue {
  const hits = new Map<string, number[]>()
  const marks = new Map<string, { mark_id: string; total: number }>()
  const rings = openRings(now)
  const store: MemoryKeyValue = {
    is_local: true,
    totals: new Map(),
    fault: null,
    async addCapped(key, n, cap, _ttl_ms, mark_id) {
      if (store.fault) throw store.fault
      const before = store.totals.get(key) ?? 0
      const total = Math.max(0, before + n)
      const mark = marks.get(key)
      const marked = { mark_id: mark?.mark_id ?? null }
      if (n > 0 && cap !== null && total > cap) return { added: false, total: before, ...marked }
      store.totals.set(key, total)
      if (mark && mark.mark_id !== mark_id) mark.total = Math.max(0, mark.total + Math.min(0, n))
      return { added: true, total, ...marked }
    },
    async mark(key, mark_id) {
      if (store.fault) throw store.fault
      const total = store.totals.get(key)
      if (total === undefined) return null
      marks.set(key, { mark_id, total })
      return total
    },
    async reconcile(key, counted, mark_id) {
      if (store.fault) throw store.fault
      const mark = marks.get(key)
      const settles = mark !== undefined && mark.mark_id === mark_id
      if (settles) marks.delete(key)
      const before = store.totals.get(key) ?? 0
      const total = Math.max(before - (settles ? Math.max(0, mark.total - counted) : 0), counted)
      if (total > 0 || store.totals.has(key)) store.totals.set(key, total)
      return total
    },
    async hitWindow(key, limit, window_ms) {
      if (store.fault) throw store.fault
      const live = (hits.get(key) ?? []).filter((at) => at > now() - window_ms && at <= now())
      const allowed = live.length < limit
      if (allowed) live.push(now())
      hits.set(key, live)
      const remaining = Math.max(0, limit - live.length)
      return { allowed, remaining, retry_after_ms: remaining > 0 ? 0 : live[0]! + window_ms - now() }
    },
    async get(key) {
      if (store.fault) throw store.fault
      return store.totals.get(key) ?? null
    },
    async remove(key) {
      if (store.fault) throw store.fault
      store.totals.delete(key)
      marks.delete(key)
    },
    async append(...ring) {
      if (store.fault) throw store.fault
      await rings.append(...ring)
    },
    async read(...ring) {
      if (store.fault) throw store.fault
      return rings.read(...ring)
    },
    checkHealth: async () => {
      throw new Error('counters in memory are never ready: they are for tests')
    },
    close: async () => {},
  }
  return store
}
