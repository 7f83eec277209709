import { createLogger } from '@tributary/service-kit/service/logger'
import type { Service } from '@tributary/service-kit/service/run-service'
import { Registry } from 'prom-client'

/** Runs `work` with a service that logs nothing, so that commands open engines as services do. Closes them afterwards. */
export async function withService<T>(work: (service: Service) => Promise<T>): Promise<T> {
  const closes: (() => Promise<void>)[] = []
  const service: Service = {
    name: 'cli',
    logger: createLogger({ name: 'cli', level: 'silent', format: 'json' }),
    registry: new Registry(),
    now: Date.now,
    elapsed: () => performance.now(),
    onClose: (_what, close) => closes.push(close),
    checks: {},
    troubles: [],
    endNow(error) {
      throw error
    },
  }
  try {
    return await work(service)
  } finally {
    // Closing an unreachable server may fail. The result of `work` is what counts.
    for (const close of closes.reverse()) await close().catch(() => {})
  }
}
