import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

export interface HashOrder {
  message: Uint8Array
  nonce: Uint8Array
  parallelism: number
  tagLength: number
  memory: number
  passes: number
}

/**
 * Makes argon2id hashes in threads of low priority, as many threads as are asked for at once. They are kept. One that fails
 * is not: its hash is rejected, and the next one starts another.
 */
export function openHashThreads() {
  const idle: Worker[] = []
  return async (order: HashOrder): Promise<Buffer> => {
    const thread = idle.pop() ?? new Worker(new URL('./hash-thread.ts', import.meta.url))
    thread.ref()
    thread.postMessage(order)
    const [hash] = (await once(thread, 'message')) as [Uint8Array]
    thread.unref()
    idle.push(thread)
    return Buffer.from(hash)
  }
}
