import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { SentEvents } from '@tributary/testing/verify-events'

export interface Freshness {
  /** Some event that was answered 200 just now; one in `sample_every_ms` is watched. */
  offer(sent: SentEvents): void
  /** Ms from the 200 until a query found the event. To be called when all is written: what is lost is no sample. */
  end(): Promise<number[]>
}

const sample_every_ms = 250
const ask_every_ms = 100

/** How long it takes from accepted to queryable. Samples are taken by the clock, so that slow times weigh as they last. */
export function watchFreshness(clickhouse: Clickhouse): Freshness {
  const waiting = new Map<string, { sent: SentEvents; at_ms: number }>()
  const found_ms: number[] = []
  let last_ms = Number.NEGATIVE_INFINITY
  let ending = false

  const ask = async () => {
    const asked = [...waiting.values()].map(
      ({ sent }) => `('${sent.app_id}', '${sent.install_uuid}', '${sent.event_ids[0]}')`,
    )
    const rows = await clickhouse.query<{ event_id: string; install_uuid: string }>(
      `SELECT install_uuid, event_id FROM events_raw_v1 WHERE (app_id, install_uuid, event_id) IN (${asked.join()})`,
    )
    for (const { install_uuid, event_id } of rows) {
      const key = `${install_uuid}/${event_id}`
      const sample = waiting.get(key)
      if (sample !== undefined) found_ms.push(performance.now() - sample.at_ms)
      waiting.delete(key)
    }
  }
  const asking = (async () => {
    while (!ending) {
      if (waiting.size > 0) await ask().catch(() => {}) // the engine is busy: later is the truth then
      await new Promise((resolve) => setTimeout(resolve, ask_every_ms))
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
      await asking
      if (waiting.size > 0) await ask()
      return found_ms
    },
  }
}
