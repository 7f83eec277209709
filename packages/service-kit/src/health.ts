import type { SystemStatus } from '@tributary/contracts/admin'
import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'

type Bindings = SystemStatus['bindings']

export interface HealthDeps {
  /** One check a binding (`database`, `object_storage`, `key_value`, `queues`, `analytics`); a rejection means down. */
  checks: Record<string, () => Promise<void>>
  now: () => number
  registry: Registry
}

/** How long one check may take, and for how long its answer is good. */
const check_timeout_ms = 2000
const check_fresh_ms = 1000

export interface Health {
  bindings(): Promise<Bindings>
  /** `/ready` answers 200 from `started()` to `stopping()`. */
  started(): void
  stopping(): void
  isReady(): boolean
  /** Adds `/health`, `/ready` and `/metrics`. */
  routes(app: FastifyInstance): void
}

/** Liveness, readiness and metrics of one process (decisions.md "Health"). */
export function createHealth({ checks, now, registry }: HealthDeps): Health {
  let ready = false
  let latest: { at_ms: number; bindings: Promise<Bindings> } | null = null

  const bindings = () => {
    if (latest === null || now() - latest.at_ms >= check_fresh_ms) {
      latest = { at_ms: now(), bindings: checkAll(checks) }
    }
    return latest.bindings
  }
  return {
    bindings,
    started: () => {
      ready = true
    },
    stopping: () => {
      ready = false
    },
    isReady: () => ready,
    routes(app) {
      app.get('/health', async () => {
        const found = await bindings()
        const ok = Object.values(found).every(({ status }) => status === 'ok')
        return { status: ok ? 'ok' : 'degraded', bindings: found }
      })
      app.get('/ready', async (_request, reply) => reply.status(ready ? 200 : 503).send({ ready }))
      app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()))
    },
  }
}

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
