import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { AttackTenant } from './tenants.ts'

/** A victim's request that takes longer is a fault. The attacks took 7 to 29 s where they worked. */
export const victim_ms_max = 5000

export interface VictimFigures {
  requests: number
  /** Events that were answered as accepted; each has an id of its own. */
  accepted: number
  p50_ms: number
  p99_ms: number
  max_ms: number
  faults: string[]
}

/**
 * A customer like any other, with an address of its own, that sends events and reads reports. It has a thread of its
 * own, so that the work of the attacker does not delay it.
 */
export function startVictim(url: string, tenant: AttackTenant) {
  const worker = new Worker(new URL('victim-thread.ts', import.meta.url), { workerData: { url, tenant } })
  const figures = once(worker, 'message')
  figures.catch(() => {}) // told to who ends it
  return {
    /** Ends after the requests that are under way. */
    async end(): Promise<VictimFigures> {
      worker.postMessage('end')
      const [message] = await figures
      return message as VictimFigures
    },
  }
}
