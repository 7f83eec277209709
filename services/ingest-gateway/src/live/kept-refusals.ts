import { refusalsKey } from '@tributary/contracts/admin/live/feed'
import { limits } from '@tributary/contracts/limits'
import type { KeyValue } from '@tributary/key-value/key-value'
import { type Answered, eventsOf, keptOf, refusalOf } from './request-fate.ts'

export interface KeptRefusals {
  /** Takes note of a request that was refused, or some of whose events were rejected. */
  note(answered: Answered): void
  /** Writes what was noted; what the store does not take is lost. */
  flush(): Promise<void>
}

/** Keeps the last refusals of each app and code, whether or not somebody watches. Bounded in memory and in writes. */
export function createKeptRefusals({ keyValue }: { keyValue: Pick<KeyValue, 'append'> }): KeptRefusals {
  /** The newest of each ring. */
  const waiting = new Map<string, string[]>()
  /** Bytes of bodies that were read since the last flush, by app. */
  const bytes = new Map<string, number>()
  let flushing = false

  return {
    note(answered) {
      const { app_id, request } = answered
      const before = bytes.get(app_id) ?? 0
      if (before >= limits.refusals_read_bytes_max) return
      const isWhole = request.ingest.code !== 'ok'
      const read = isWhole ? one(refusalOf(answered)) : eventsOf(answered, limits.refusals_kept_max)
      bytes.set(app_id, before + read.bytes)
      for (const item of read.items) {
        if (item.code === null) continue
        const key = refusalsKey(app_id, item.code, item.unproven)
        const texts = waiting.get(key) ?? []
        if (texts.length === 0 && waiting.size >= limits.refusals_waiting_max) return
        waiting.set(key, [...texts, JSON.stringify(keptOf(item))].slice(-limits.refusals_kept_max))
      }
    },
    async flush() {
      bytes.clear()
      if (flushing) return
      flushing = true
      const due = takeSome(waiting)
      const { refusals_kept_max: max, refusals_kept_ms: ttl_ms } = limits
      await Promise.allSettled(due.map(([key, text]) => keyValue.append(key, text, max, ttl_ms)))
      flushing = false
    },
  }
}

const one = <Item>({ item, bytes }: { item: Item; bytes: number }) => ({ items: [item], bytes })

/** Takes up to `refusals_of_flush_max` texts; rings whose texts are taken leave the map. */
function takeSome(waiting: Map<string, string[]>): [string, string][] {
  const taken: [string, string][] = []
  for (const [key, texts] of waiting) {
    if (taken.length >= limits.refusals_of_flush_max) break
    for (const text of texts) taken.push([key, text])
    waiting.delete(key)
  }
  return taken
}
