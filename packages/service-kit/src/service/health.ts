import type { SystemStatus } from '@tributary/contracts/admin/system'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'
import { proxyHeaders } from '../http/client-address.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the admin fence lets the sender pass; absent in a process without one. */
    isOperator?(): boolean
  }
}

type Bindings = SystemStatus['bindings']

export interface HealthDeps {
  /** One check a binding (`database`, `object_storage`, `key_value`, `queues`, `analytics`); a rejection means down. */
  checks: Record<string, () => Promise<void>>
  /** Clock of ages alone: `elapsed` of `Service`. */
  now: () => number
  registry: Pick<Registry, 'metrics' | 'contentType'>
  /** Called for every answer of `/health` and `/ready`; see `Trouble`. */
  troubles?: readonly (() => readonly Trouble[])[]
  /** Bindings without which every request of this process is refused; one without a check counts as down. */
  needs?: readonly string[]
}

/** Something wrong in this process itself, in words for an operator. */
export interface Trouble {
  code: string
  message: string
  /** The command that goes on, or what else to do; `tributary doctor` shows it. */
  fix?: string
  /** Every request is refused meanwhile, so `/ready` answers 503. */
  refuses: boolean
}

/** How long one check may take, and for how long its answer is good. */
const check_timeout_ms = 2000
const check_fresh_ms = 1000
/** A needed binding must be down for this long before `/ready` says so: one slow check must not take a busy process out. */
const unready_after_ms = 5000

export interface Health {
  bindings(): Promise<Bindings>
  /** `/ready` answers 200 from `started()` to `stopping()`, unless every request would be refused. */
  started(): void
  stopping(): void
  isReady(): Promise<boolean>
  /** Adds `/health`, `/ready` and `/metrics`. */
  routes(app: FastifyInstance): void
}

/** Liveness, readiness and metrics of one process. */
export function createHealth({ checks, now, registry, troubles = [], needs = [] }: HealthDeps): Health {
  let serving = false
  const downSince_ms = new Map<string, number>()
  let latest: { at_ms: number; bindings: Promise<Bindings> } | null = null

  const bindings = () => {
    if (latest === null || now() - latest.at_ms >= check_fresh_ms) {
      latest = { at_ms: now(), bindings: checkAll(checks) }
    }
    return latest.bindings
  }
  const allTroubles = () => troubles.flatMap((look) => look())

  async function hasNeeds(): Promise<boolean> {
    if (needs.length === 0) return true
    const found = await bindings()
    for (const name of needs) {
      if (found[name]?.status === 'ok') downSince_ms.delete(name)
      else if (!downSince_ms.has(name)) downSince_ms.set(name, now())
    }
    return [...downSince_ms.values()].every((since_ms) => now() - since_ms < unready_after_ms)
  }

  async function isReady(): Promise<boolean> {
    if (!serving || allTroubles().some(({ refuses }) => refuses)) return false
    return (await hasNeeds()) && serving
  }

  return {
    bindings,
    started: () => {
      serving = true
    },
    stopping: () => {
      serving = false
    },
    isReady,
    routes(app) {
      app.get('/health', async (request) => {
        const found = await bindings()
        const wrong = allTroubles().map(({ code, message, fix }) =>
          isOperator(request) ? { code, message, ...(fix !== undefined && { fix }) } : { code },
        )
        const ok = wrong.length === 0 && Object.values(found).every(({ status }) => status === 'ok')
        return { status: ok ? 'ok' : 'degraded', bindings: found, ...(wrong.length > 0 && { troubles: wrong }) }
      })
      app.get('/ready', async (_request, reply) => {
        const ready = await isReady()
        return reply.status(ready ? 200 : 503).send({ ready })
      })
      app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()))
    },
  }
}

/** Words for an operator name apps, paths and keys: without a fence, they are for whoever reaches the process itself. */
const isOperator = (request: FastifyRequest): boolean =>
  request.isOperator?.() ?? proxyHeaders.every((name) => request.headers[name] === undefined)

async function checkAll(checks: HealthDeps['checks']): Promise<Bindings> {
  const entries = Object.entries(checks).map(async ([name, check]) => {
    const started = performance.now()
    const status = await withTimeout(check()).then(
      () => 'ok' as const,
      () => 'down' as const,
    )
    return [name, { status, latency_ms: Math.round(performance.now() - started) }] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}

async function withTimeout(work: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('health check timed out')), check_timeout_ms)
  try {
    await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
