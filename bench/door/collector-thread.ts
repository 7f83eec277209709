import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** A collector of traces in a thread of its own that takes what comes and looks at nothing. */
export async function startCollectorThread(): Promise<{ url: string; close(): Promise<void> }> {
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads')
    const server = require('node:http').createServer((request, response) => request.resume().on('end', () => response.end('{}')))
    server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))`,
    { eval: true },
  )
  const [port] = (await once(worker, 'message')) as [number]
  return { url: `http://127.0.0.1:${port}`, close: async () => void (await worker.terminate()) }
}
