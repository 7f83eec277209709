import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Reply {
  status: number
  body?: unknown
  headers?: Record<string, string>
  /** The body as it is, instead of JSON. */
  text?: string
  /** Closes the connection instead of answering. */
  hang_up?: boolean
  /** Closes the connection after the text. */
  broken_off?: boolean
}

export interface Received {
  method: string
  path: string
  headers: IncomingMessage['headers']
  body: Buffer
}

export interface FakeService {
  url: string
  close(): Promise<void>
}

/** A real HTTP server that answers with `answer`. */
export async function startService(answer: (request: Received) => Reply | Promise<Reply>): Promise<FakeService> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method = '', url = '', headers } = request
    respond(await answer({ method, path: url, headers, body: Buffer.concat(chunks) }), response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function respond({ status, body, text, headers, hang_up, broken_off }: Reply, response: ServerResponse): void {
  if (hang_up) {
    response.destroy()
    return
  }
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  if (broken_off) response.write(text, () => response.destroy())
  else response.end(text ?? (body === undefined ? '' : JSON.stringify(body)))
}

type JsonObject = Record<string, unknown>

/** The events of a service: one per (install_uuid, event_id), however often it arrives. */
export class EventShelf {
  readonly events = new Map<string, JsonObject>()

  /** Takes one batch and gives the answer of `/event` and `/s2s/events/bulk`. */
  take(events: readonly JsonObject[]): Reply {
    const results = events.map((event) => {
      const event_id = event.event_id ?? null
      const missing = typeof event.install_uuid !== 'string' || typeof event.event_name !== 'string'
      if (missing) return { event_id, status: 'rejected', reason: 'missing_required_fields' }
      if (typeof event.revenue === 'string') {
        return {
          event_id,
          status: 'rejected',
          reason: 'invalid_field',
          field: 'revenue',
          message: 'revenue is a number.',
        }
      }
      const key = `${event.install_uuid} ${event_id ?? `none ${this.events.size}`}`
      if (!this.events.has(key)) this.events.set(key, event)
      return { event_id, status: 'accepted' }
    })
    const rejected = results.filter(({ status }) => status === 'rejected').length
    return { status: 200, body: { accepted: results.length - rejected, rejected, results, audit_key: 's2s/bulk/x' } }
  }
}
