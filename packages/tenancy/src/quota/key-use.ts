import { hour_ms } from '@tributary/contracts/limits'
import type { KeyValue } from '@tributary/key-value/key-value'
import type { CountersBreaker } from './counters-breaker.ts'

export interface KeyUseDeps {
  keyValue: Pick<KeyValue, 'addCapped' | 'reconcile'>
  breaker: CountersBreaker
  now: () => number
}

/** The requests of a server key, for whoever wants to revoke it. */
export interface FoundKeyUse {
  /** The minute of its last request; null before the first one, and while the counters are away. */
  last_used_ms: number | null
  /** Requests of this hour and the 23 hours before, refused ones too; null while the counters are away. */
  requests_24h: number | null
}

const minute_ms = 60_000
const hours_shown = 24
/** Ten years: as long as the counters are kept. */
const last_kept_ms = 10 * 365 * 24 * hour_ms
/** Between two writes of one process. */
const pause_ms_default = 10_000
/** An app with many keys holds up no other reader of the counters. */
const keys_at_once = 20

const lastKey = (key_id: string) => `key-used:${key_id}`
const hourKey = (key_id: string, hour: number) => `key-requests:${key_id}:${hour}`

/** Notes requests of server keys in memory, and writes them together: no request waits for it. */
export function createKeyUse({ keyValue, breaker, now }: KeyUseDeps, pause_ms = pause_ms_default) {
  const noted = new Map<string, number>()
  let timer: NodeJS.Timeout | null = null
  const write = () => {
    timer = null
    if (noted.size === 0) return
    const [requests, now_ms] = [[...noted], now()]
    noted.clear()
    const minute = Math.floor(now_ms / minute_ms)
    for (const [key_id, n] of requests) {
      const hour = hourKey(key_id, Math.floor(now_ms / hour_ms))
      void breaker(() =>
        Promise.all([
          keyValue.addCapped(hour, n, null, (hours_shown + 1) * hour_ms),
          keyValue.reconcile(lastKey(key_id), minute, null, last_kept_ms), // never lowers it
        ]),
      )
    }
    timer = setTimeout(write, pause_ms).unref()
  }
  return {
    note(key_id: string): void {
      noted.set(key_id, (noted.get(key_id) ?? 0) + 1)
      if (timer === null) write()
    },
  }
}

/** The use of each of some server keys. */
export async function findKeyUse(
  keyValue: Pick<KeyValue, 'get'>,
  key_ids: readonly string[],
  now_ms: number,
): Promise<Map<string, FoundKeyUse>> {
  const hour = Math.floor(now_ms / hour_ms)
  const find = async (key_id: string): Promise<FoundKeyUse> => {
    const hours = Array.from({ length: hours_shown }, (_, n) => keyValue.get(hourKey(key_id, hour - n)))
    const [last, ...counts] = await Promise.all([keyValue.get(lastKey(key_id)), ...hours])
    return {
      // A clock that was ahead wrote a minute that is still to come.
      last_used_ms: last == null ? null : Math.min(last, Math.floor(now_ms / minute_ms)) * minute_ms,
      requests_24h: counts.reduce<number>((sum, count) => sum + (count ?? 0), 0),
    }
  }
  const away: FoundKeyUse = { last_used_ms: null, requests_24h: null }
  const found = new Map<string, FoundKeyUse>()
  for (let n = 0; n < key_ids.length; n += keys_at_once) {
    const some = key_ids.slice(n, n + keys_at_once)
    const uses = await Promise.all(some.map((key_id) => find(key_id).catch(() => away)))
    some.forEach((key_id, k) => void found.set(key_id, uses[k]!))
  }
  return found
}
