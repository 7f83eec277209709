import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A postback as a partner gets it. */
interface Heard {
  method: string
  /** Path and query. */
  path: string
  headers: IncomingHttpHeaders
  body: string
}

export interface PartnerServer {
  /** `http://127.0.0.1:PORT`. */
  url: string
  heard: Heard[]
  /** Answers 200 unless it is set. */
  answer(listener: RequestListener | null): void
  close(): Promise<void>
}

/** A partner that keeps what it hears. */
export async function startPartnerServer(): Promise<PartnerServer> {
  const heard: Heard[] = []
  let listener: RequestListener | null = null
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      heard.push({ method, path, headers, body: Buffer.concat(parts).toString() })
      if (listener === null) response.end('ok')
      else listener(request, response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    heard,
    answer(given) {
      listener = given
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
