import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { type DoorRequest, events_per_batch } from './bodies.ts'

export interface LoadReport {
  acknowledged: number
  seconds: number
  ack_ms: number[]
}

/** Connections of a paced load: it waits for one only when the gateway stands still. Below the bound on requests in flight. */
const paced_connections = 100

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
  let acknowledged = 0
  const sendUntilOver = async () => {
    while (performance.now() - started < seconds * 1000) {
      const sent = performance.now()
      const request = requests[next++ % requests.length]!
      await send(pool, request)
      acknowledged += request.events ?? events_per_batch
      ack_ms.push(performance.now() - sent)
    }
  }
  await Promise.all(Array.from({ length: connections }, sendUntilOver))
  const took = (performance.now() - started) / 1000
  await pool.close()
  return { acknowledged, seconds: took, ack_ms }
}

/** Offers `events_per_second` whatever the answers do; each answer is timed from the moment its request was due. */
export async function sendPacedLoad(
  port: number,
  requests: readonly DoorRequest[],
  events_per_second: number,
  seconds: number,
  connections = paced_connections,
): Promise<LoadReport> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1 })
  const pause_ms = (events_per_batch / events_per_second) * 1000
  const ack_ms: number[] = []
  const answers: Promise<void>[] = []
  const started = performance.now()
  const sendDue = async (due: number, request: DoorRequest) => {
    await send(pool, request)
    ack_ms.push(performance.now() - due)
  }
  const count = Math.floor((seconds * 1000) / pause_ms)
  while (answers.length < count) {
    const due = started + answers.length * pause_ms
    if (performance.now() < due) await pause(1)
    else answers.push(sendDue(due, requests[answers.length % requests.length]!))
  }
  await Promise.all(answers)
  const took = (performance.now() - started) / 1000
  await pool.close()
  return { acknowledged: ack_ms.length * events_per_batch, seconds: took, ack_ms }
}

async function send(pool: Pool, request: DoorRequest): Promise<void> {
  const { path = '/event', headers, body, events = events_per_batch } = request
  const answer = await pool.request({ method: 'POST', path, headers, body })
  const reply = (await answer.body.json()) as { accepted?: number }
  if (reply.accepted !== events) throw new Error(`refused: ${JSON.stringify(reply)}`)
}
