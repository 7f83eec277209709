import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { SentEvents } from '@tributary/testing/verify-events'

export interface Freshness {
  /** Offers an event that was just answered 200. One event per `sample_every_ms` is watched. */
  offer(sent: SentEvents): void
  /** Returns the times from the 200 until a query found the event, in ms. Call it when all events are written. */
  end(): Promise<number[]>
}

const sample_every_ms = 250
const poll_every_ms = 100

/** Measures the time from accepted to queryable. It samples by the clock, so that slow phases count for their duration. */
export function watchFreshness(clickhouse: Clickhouse): Freshness {
  const waiting = new Map<string, { sent: SentEvents; at_ms: number }>()
  const found_ms: number[] = []
  let last_ms = Number.NEGATIVE_INFINITY
  let ending = false

  const lookUp = async () => {
    const wanted = [...waiting.values()].map(
      ({ sent }) => `('${sent.app_id}', '${sent.install_uuid}', '${sent.event_ids[0]}')`,
    )
    const rows = await clickhouse.query<{ event_id: string; install_uuid: string }>(
      `SELECT install_uuid, event_id FROM events_raw_v1 WHERE (app_id, install_uuid, event_id) IN (${wanted.join()})`,
    )
    for (const { install_uuid, event_id } of rows) {
      const key = `${install_uuid}/${event_id}`
      const sample = waiting.get(key)
      if (sample !== undefined) found_ms.push(performance.now() - sample.at_ms)
      waiting.delete(key)
    }
  }
  const polling = (async () => {
    while (!ending) {
      if (waiting.size > 0) await lookUp().catch(() => {}) // a busy engine delays the result
      await new Promise((resolve) => setTimeout(resolve, poll_every_ms))
    }
  })()

  return {
    offer(sent) {
      const now = performance.now()
      if (now - last_ms < sample_every_ms) return
      last_ms = now
      waiting.set(`${sent.install_uuid}/${sent.event_ids[0]}`, { sent, at_ms: now })
    },
    async end() {
      ending = true
      await polling
      if (waiting.size > 0) await lookUp()
      return found_ms
    },
  }
}
