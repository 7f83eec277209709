import { once } from 'node:events'
import { Worker, type WorkerOptions } from 'node:worker_threads'

export interface HashOrder {
  message: Uint8Array
  nonce: Uint8Array
  parallelism: number
  tagLength: number
  memory: number
  passes: number
}

interface Thread {
  worker: Worker
  /** Aborts when the thread ends, whatever ended it. */
  ended: AbortSignal
}

/**
 * Makes argon2id hashes in threads of low priority, as many threads as are asked for at once. They are kept. One that fails
 * is not: its hash is rejected, and the next one starts another.
 */
export function openHashThreads(options: WorkerOptions = {}) {
  const idle: Thread[] = []
  return async (order: HashOrder): Promise<Buffer> => {
    const thread = idle.pop() ?? startThread(options)
    const { worker, ended } = thread
    worker.ref()
    worker.postMessage(order)
    const [hash] = (await once(worker, 'message', { signal: ended })) as [Uint8Array]
    worker.unref()
    idle.push(thread)
    return Buffer.from(hash)
  }
}

function startThread(options: WorkerOptions): Thread {
  const worker = new Worker(new URL('./hash-thread.ts', import.meta.url), options)
  const ending = new AbortController()
  worker.on('error', () => {}) // `once` rejects the hash that waits; without one, nobody must end the process
  worker.on('exit', () => ending.abort())
  return { worker, ended: ending.signal }
}
