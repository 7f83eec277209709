import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { onTestFinished } from 'vitest'

export interface Received {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
  at_ms: number
}

export interface Reply {
  status: number
  body?: unknown
  headers?: Record<string, string>
  /** Closes the connection instead of answering. */
  cut?: boolean
  /** Closes the connection after the body. */
  broken_off?: boolean
}

export interface HostileService {
  url: string
  /** All requests, oldest first. */
  received: Received[]
}

/** A real HTTP server that answers with `answer`; closed after the test. */
export async function startService(answer: (request: Received) => Reply | Promise<Reply>): Promise<HostileService> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer)
    } catch {
      return
    }
    const { method = '', url = '', headers } = request
    const one = { method, path: url, headers, body: Buffer.concat(chunks), at_ms: performance.now() }
    received.push(one)
    respond(await answer(one), response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}

function respond({ status, body, headers, cut, broken_off }: Reply, response: ServerResponse): void {
  if (cut) {
    response.destroy()
    return
  }
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  if (broken_off) response.write(text, () => response.destroy())
  else response.end(text)
}

export type JsonObject = Record<string, unknown>

/** The events of a request body, unpacked. */
export function eventsOf({ headers, body }: Pick<Received, 'headers' | 'body'>): JsonObject[] {
  const inflated = headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
  return JSON.parse(inflated.toString()).events
}

/** Whether the signature header is the HMAC of the body (docs/rules.md#signature). */
export const isSigned = ({ headers, body }: Pick<Received, 'headers' | 'body'>, signing_secret: string): boolean =>
  headers['x-service-signature'] === createHmac('sha256', signing_secret).update(body).digest('hex')

/** The events of a service: one per (install_uuid, event_id), however often it arrives. */
export class EventShelf {
  readonly events = new Map<string, JsonObject>()

  /** Takes one batch and gives the answer of `/event` and `/s2s/events/bulk`. It rejects events with `bad: true`. */
  take(events: readonly JsonObject[]): Reply {
    const results = events.map((event) => {
      const event_id = event.event_id as string
      if (event.bad === true) return { event_id, status: 'rejected', reason: 'invalid_field', field: 'bad' }
      const key = `${event.install_uuid} ${event_id}`
      if (!this.events.has(key)) this.events.set(key, event)
      return { event_id, status: 'accepted' }
    })
    const rejected = results.filter(({ status }) => status === 'rejected').length
    return { status: 200, body: { accepted: results.length - rejected, rejected, results, audit_key: 'audit/x' } }
  }

  ids(): string[] {
    return [...this.events.values()].map(({ event_id }) => event_id as string)
  }
}

/** Waits until the condition holds; throws after 20 s. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 180_000
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('waited too long')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
