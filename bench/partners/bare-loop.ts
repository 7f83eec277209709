import { Agent } from 'undici'
import { nextMessage, report, watchCpu } from '../process/driven-process.ts'

/** Requests that a bare loop sends, so many at once. */
export interface BareOrder {
  urls: string[]
  at_once: number
}

/** Sends each request once and reads its answer; the least that any forwarder does. The first tenth is no part of the figure. */
async function main(): Promise<void> {
  const { urls, at_once } = (await nextMessage()) as BareOrder
  const agent = new Agent({ connections: 64, pipelining: 1 })
  let next = 0
  const sendUntil = async (end: number) => {
    while (next < end) {
      const url = new URL(urls[next++]!)
      const { body } = await agent.request({
        ...{ origin: url.origin, path: `${url.pathname}${url.search}`, method: 'GET' },
        headers: { 'idempotency-key': '00000000-0000-0000-0000-000000000000' },
      })
      await body.text()
    }
  }
  const all = (end: number) => Promise.all(Array.from({ length: at_once }, () => sendUntil(end)))
  await all(urls.length / 10)
  const cpuSeconds = watchCpu()
  await all(urls.length)
  report({ cpu_seconds: cpuSeconds() })
  await agent.close()
  process.disconnect()
}

if (import.meta.main) await main()
