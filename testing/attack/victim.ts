import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { AttackTenant } from './tenants.ts'

/** A slower request of the victim is a fault. Successful attacks delayed requests by 7 to 29 s. */
export const victim_ms_max = 5000

/** The install of its SDK. Others may know the id. */
export const victim_install = 'victim-install'

export interface VictimFigures {
  requests: number
  /** Events that were accepted; each has its own id. */
  accepted: number
  p50_ms: number
  p99_ms: number
  max_ms: number
  faults: string[]
}

/**
 * Starts an ordinary customer with its own address that sends events and reads reports. It runs in its own thread, so that
 * the attacker's work does not delay it.
 */
export function startVictim(url: string, tenant: AttackTenant) {
  const worker = new Worker(new URL('victim-thread.ts', import.meta.url), { workerData: { url, tenant } })
  const figures = once(worker, 'message')
  figures.catch(() => {}) // `end` throws it
  return {
    /** Ends after the open requests. */
    async end(): Promise<VictimFigures> {
      worker.postMessage('end')
      const [message] = await figures
      return message as VictimFigures
    },
  }
}
