import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createListener } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

/** What the partners heard since the last question: by the name before the first `/` of the path. */
interface Heard {
  count: number
  /** From the time in the query to the arrival. */
  ms: number[]
}
export type HeardByName = Record<string, Heard>

/** How long a partner named `slow` takes to answer. */
export const slow_answer_ms = 20

/** Partners on every address of 127.0.0.0/8: those of the first port answer, those of the second never do. */
async function main(): Promise<void> {
  process.once('disconnect', () => process.exit())
  let heard: HeardByName = {}
  const answers = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://partner')
    const name = pathname.split('/')[1] ?? ''
    heard[name] ??= { count: 0, ms: [] }
    heard[name].count += 1
    heard[name].ms.push(Date.now() - Number(searchParams.get('at')))
    request.resume()
    if (name === 'slow') await pause(slow_answer_ms)
    response.end('ok')
  })
  answers.keepAliveTimeout = 60_000
  const hangs = createListener((socket) => void socket.on('error', () => {}))
  const ports: number[] = []
  for (const server of [answers, hangs]) {
    server.listen(0, '0.0.0.0', 1000)
    await once(server, 'listening')
    ports.push((server.address() as AddressInfo).port)
  }
  process.on('message', () => {
    process.send?.(heard)
    heard = {}
  })
  process.send?.(ports)
}

if (import.meta.main) await main()
