import { createHmac, randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { Pool } from 'undici'
import { percentile } from '../bench.ts'

export interface LoadOrder {
  url: string
  demo: Record<string, string>
  seconds: number
  /** Events per second. */
  rate: number
  connections?: number
}

export interface LoadReport {
  acknowledged: number
  /** From the first request to the last answer. */
  seconds: number
  /** From when its request was due, as the next. */
  ack_p95_ms: number
  ack_p99_ms: number
}

const batch_events = 50
const connections_default = 16

/** One batch of about 25 kB: 50 events of about 500 B of one install. */
function makeBody(): Buffer {
  const install_uuid = randomUUID()
  const now = Date.now()
  const events = Array.from({ length: batch_events }, (_, n) => ({
    event_id: randomUUID(),
    event_name: ['level_up', 'ad_impression', 'purchase', 'session_start'][n % 4],
    event_ts_ms: now - n * 10,
    install_uuid,
    ...(n % 4 === 2 ? { revenue: 4.99, currency: 'USD', product_id: 'gems_100' } : {}),
    props: { level: n, screen: 'shop', session: randomUUID(), placement: 'rewarded-video', note: 'n'.repeat(120) },
    device: { os: 'android', os_version: '16', model: 'Pixel 9', locale: 'en_GB' },
  }))
  return gzipSync(JSON.stringify({ events, sent_at_ms: now }), { level: 1 })
}

/** Offers batches at an even pace over some connections. A late answer delays the requests behind it, which the times of answers count. */
async function run({ url, demo, seconds, rate, connections = connections_default }: LoadOrder): Promise<LoadReport> {
  const pool = new Pool(url, { connections, pipelining: 1 })
  const ack_ms: number[] = []
  let acknowledged = 0
  const send = async (due: number) => {
    const body = makeBody()
    const answer = await pool.request({
      path: '/event',
      method: 'POST',
      body,
      headers: {
        'content-encoding': 'gzip',
        'x-service-company-key': demo.COMPANY_KEY ?? '',
        'x-service-app-key': demo.APP_KEY ?? '',
        'x-service-signature': createHmac('sha256', demo.SIGNING_SECRET ?? '')
          .update(body)
          .digest('hex'),
      },
    })
    const { accepted } = (await answer.body.json()) as { accepted: number }
    ack_ms.push(performance.now() - due)
    acknowledged += accepted
  }
  const started = performance.now()
  const batches = Math.round((seconds * rate) / batch_events)
  let next = 0
  const worker = async () => {
    while (next < batches) {
      const due = started + (next * batch_events * 1000) / rate
      next += 1
      const wait = due - performance.now()
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
      await send(due)
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  const took = (performance.now() - started) / 1000
  await pool.close()
  return {
    acknowledged,
    seconds: took,
    ack_p95_ms: percentile(ack_ms, 0.95),
    ack_p99_ms: percentile(ack_ms, 0.99),
  }
}

process.once('message', async (order) => {
  const report = await run(order as LoadOrder)
  process.send?.(report, () => process.disconnect())
})
