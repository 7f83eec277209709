import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { consumers } from '@tributary/contracts/consumers'

export interface PostbackLoad {
  /** Bodies that were answered 200. */
  acknowledged: ReadonlySet<string>
  /** All bodies. */
  sent: ReadonlySet<string>
  /** Sends no new one. Resolves when the open requests are answered. */
  stop(): Promise<void>
}

const clients = 4
const pause_ms = 100
const patience_ms = 15_000

/** Starts devices that send each postback until it is answered 200, and then once more. Each has an address of its own. */
export function startPostbacks(gateway_url: string): PostbackLoad {
  const acknowledged = new Set<string>()
  const sent = new Set<string>()
  let stopping = false

  async function device(): Promise<void> {
    while (!stopping) {
      const body = JSON.stringify({ version: '4.0', 'transaction-id': randomUUID(), 'app-id': 5_000_000_001 })
      sent.add(body)
      for (let answers = 0; answers < 2 && !stopping; await pause(pause_ms)) {
        if (!(await send(gateway_url, body))) continue
        answers += 1
        acknowledged.add(body)
      }
    }
  }
  const ended = Promise.all(Array.from({ length: clients }, device))
  ended.catch(() => {}) // `stop` throws it
  return {
    acknowledged,
    sent,
    async stop() {
      stopping = true
      await ended
    },
  }
}

async function send(gateway_url: string, body: string): Promise<boolean> {
  const ip = `192.0.${Math.floor(Math.random() * 256)}.${Math.floor(Math.random() * 256)}`
  const headers = { 'x-forwarded-for': ip, 'content-type': 'application/json' }
  const signal = AbortSignal.timeout(patience_ms)
  const answer = await fetch(`${gateway_url}/skan-postback`, { method: 'POST', headers, body, signal })
    .then(async (got) => ({ status: got.status, text: await got.text() }))
    .catch(() => null)
  if (answer === null || answer.status === 503) return false
  if (answer.status !== 200) throw new Error(`/skan-postback answered ${answer.status} ${answer.text.slice(0, 300)}`)
  return true
}

/**
 * Waits until postback-writer has written all, and compares: `postbacks_lost` were answered 200 and are not in the table,
 * `postbacks_unknown` are there and were never sent.
 */
export async function comparePostbacks(
  { broker, clickhouse }: { broker: Broker; clickhouse: Clickhouse },
  { acknowledged, sent }: PostbackLoad,
  ms_max: number,
) {
  const { name, topic } = consumers.postbackWriter
  for (const deadline = Date.now() + ms_max; ; await pause(250)) {
    const offsets = await broker.groupOffsets(name, topic.name)
    if (offsets.every(({ committed, earliest, end }) => (committed ?? earliest) === end)) break
    if (Date.now() > deadline) throw new Error(`postbacks were not written in time: ${JSON.stringify(offsets)}`)
  }
  const rows = await clickhouse.query<{ body: string }>('SELECT DISTINCT body FROM postbacks_raw_v1')
  const stored = new Set(rows.map(({ body }) => body))
  return {
    postbacks: acknowledged.size,
    postbacks_lost: [...acknowledged].filter((body) => !stored.has(body)).length,
    postbacks_unknown: [...stored].filter((body) => !sent.has(body)).length,
  }
}
