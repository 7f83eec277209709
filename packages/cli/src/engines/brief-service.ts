import { createLogger } from '@tributary/service-kit/service/logger'
import type { Service } from '@tributary/service-kit/service/run-service'
import { Registry } from 'prom-client'

/** Runs `work` as a service that says nothing, to open engines as services do, and closes what it opened. */
export async function withService<T>(work: (service: Service) => Promise<T>): Promise<T> {
  const closes: (() => Promise<void>)[] = []
  const service: Service = {
    name: 'cli',
    logger: createLogger({ name: 'cli', level: 'silent', format: 'json' }),
    registry: new Registry(),
    now: Date.now,
    onClose: (_what, close) => closes.push(close),
    checks: {},
    troubles: [],
  }
  try {
    return await work(service)
  } finally {
    // A server that is away may refuse to be left in order; what `work` found is the answer.
    for (const close of closes.reverse()) await close().catch(() => {})
  }
}
