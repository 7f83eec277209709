import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { LoadOrder, LoadReport } from './load.ts'

/** Sends events from a process of its own. Rejects when it ends without a report, as when its parent ends it. */
export async function sendEvents(order: LoadOrder): Promise<LoadReport> {
  const load = fork(join(import.meta.dirname, 'load.ts'), [], { stdio: 'inherit' })
  const early = once(load, 'exit').then(() => Promise.reject(new Error('the load generator ended early')))
  early.catch(() => {}) // after its report it may end
  load.send(order)
  const [report] = (await Promise.race([once(load, 'message'), early])) as [LoadReport]
  return report
}
