import { Pool } from 'undici'
import { type DoorRequest, events_per_batch } from './bodies.ts'

export interface LoadReport {
  acknowledged: number
  seconds: number
  ack_ms: number[]
}

/** Sends the requests over and over until the time is over; only whole acceptances count, anything else throws. */
export async function sendLoad(
  port: number,
  requests: readonly DoorRequest[],
  connections: number,
  seconds: number,
): Promise<LoadReport> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1 })
  const ack_ms: number[] = []
  const started = performance.now()
  let next = 0
  const sendUntilOver = async () => {
    while (performance.now() - started < seconds * 1000) {
      const { headers, body } = requests[next++ % requests.length]!
      const sent = performance.now()
      const answer = await pool.request({ method: 'POST', path: '/event', headers, body })
      const reply = (await answer.body.json()) as { accepted?: number }
      if (reply.accepted !== events_per_batch) throw new Error(`refused: ${JSON.stringify(reply)}`)
      ack_ms.push(performance.now() - sent)
    }
  }
  await Promise.all(Array.from({ length: connections }, sendUntilOver))
  const took = (performance.now() - started) / 1000
  await pool.close()
  return { acknowledged: ack_ms.length * events_per_batch, seconds: took, ack_ms }
}
