import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { AttackTenant } from './tenants.ts'

/** A slower request of the victim is a fault. Successful attacks delayed requests by 7 to 29 s. */
export const victim_ms_max = 5000

/** The install of its SDK. Others may know the id. */
export const victim_install = 'victim-install'

/** Times of one kind of request, ms. */
export interface Times {
  requests: number
  p50_ms: number
  p99_ms: number
  max_ms: number
}

/**
 * What the victim does; `verdict`: it sends an install and waits until it is decided; `fresh`: it sends an event and waits
 * until its report counts it; `erased`: it sends an event of an install, and waits until the erasure of that is completed; `large`: a batch of more than half a MiB, which the gateway judges in a thread.
 */
export const victimSteps = ['event', 's2s', 'report', 'click', 'verdict', 'fresh', 'erased', 'large'] as const
export type VictimStep = (typeof victimSteps)[number]
/** Steps that wait for consumers. */
export const waitingSteps: readonly VictimStep[] = ['verdict', 'fresh', 'erased']

/** The times of all requests together, and of each step. */
export interface VictimFigures extends Times {
  /** Events that were accepted; each has its own id. */
  accepted: number
  steps: Partial<Record<VictimStep, Times>>
  faults: string[]
}

/**
 * Starts an ordinary customer with its own address that sends events, reads reports, clicks and installs. It runs in its own thread, so that
 * the attacker's work does not delay it. The token is for erasures, which its operator asks for.
 */
export function startVictim(url: string, tenant: AttackTenant, steps: readonly VictimStep[], admin_token = '') {
  const workerData = { url, tenant, steps, admin_token }
  const worker = new Worker(new URL('victim-thread.ts', import.meta.url), { workerData })
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
