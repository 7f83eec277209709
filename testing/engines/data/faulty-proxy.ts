import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * `pass`: as if it were not there. `error`: answers 500 and asks nobody. `hang`: takes the request and says nothing.
 * `lose_answer`: the engine does the work, the connection ends without an answer. `late`: the engine does the work, and
 * the answer comes after whoever asked has given up.
 */
export type ProxyMode = 'pass' | 'error' | 'hang' | 'lose_answer' | 'late'

export interface FaultyProxy {
  url: string
  mode: ProxyMode
  /** Which requests the mode concerns; all of them unless set. */
  concerns(request: IncomingMessage): boolean
  /** How many requests met each mode. */
  met: Record<ProxyMode, number>
  /** The most requests that were under way at the same time. */
  most_at_once: number
  close(): Promise<void>
}

/** A way to an HTTP engine that fails as the test says. */
export async function openFaultyProxy(target: string, { late_ms = 5000 } = {}): Promise<FaultyProxy> {
  let at_once = 0
  const server = createServer((incoming, answer) => {
    at_once += 1
    proxy.most_at_once = Math.max(proxy.most_at_once, at_once)
    answer
      .on('error', () => {})
      .on('close', () => {
        at_once -= 1
      })
    const mode = proxy.concerns(incoming) ? proxy.mode : 'pass'
    proxy.met[mode] += 1
    if (mode === 'hang') incoming.on('error', () => {}).resume()
    else if (mode === 'error') incoming.resume().on('end', () => answer.writeHead(500).end('out of order'))
    else forward(target, incoming, answer, mode, late_ms)
  })
  const proxy: FaultyProxy = {
    url: '',
    mode: 'pass',
    concerns: () => true,
    met: { pass: 0, error: 0, hang: 0, lose_answer: 0, late: 0 },
    most_at_once: 0,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return proxy
}

function forward(target: string, incoming: IncomingMessage, answer: ServerResponse, mode: ProxyMode, late_ms: number) {
  const { method, headers, url } = incoming
  const outgoing = request(new URL(url ?? '/', target), { method, headers }, (response) => {
    if (mode === 'lose_answer') {
      response.resume().on('end', () => answer.destroy())
      return
    }
    const pass = () => {
      answer.writeHead(response.statusCode ?? 500, response.headers)
      response.pipe(answer)
    }
    if (mode === 'late') setTimeout(pass, late_ms).unref()
    else pass()
  })
  outgoing.on('error', () => answer.destroy())
  incoming.pipe(outgoing)
}
