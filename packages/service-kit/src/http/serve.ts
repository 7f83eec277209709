import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '@tributary/contracts/limits'
import type { FastifyInstance } from 'fastify'
import { createHealth, type Health, type HealthDeps } from '../service/health.ts'
import type { Service } from '../service/run-service.ts'
import type { Settings } from '../settings/read-settings.ts'
import { StartRefused } from '../settings/start-refused.ts'
import { createHttpApp } from './http-app.ts'

export const httpSettings = [
  'TRIBUTARY_HOST',
  'TRIBUTARY_PORT',
  'TRIBUTARY_TRUSTED_PROXIES',
  'TRIBUTARY_DRAIN_MS',
  'TRIBUTARY_LOG_LEVEL',
  'TRIBUTARY_LOG_FORMAT',
] as const
type HttpConfig = Settings<(typeof httpSettings)[number]>

export interface Serving {
  /** `http://host:port`. */
  url: string
  health: Health
}

type Serves = Omit<Service, 'registry'> & Pick<HealthDeps, 'registry'>

/**
 * Serves `/health`, `/ready`, `/metrics` and the routes that `register` adds, ready from the moment it listens. When the
 * service stops, `/ready` answers 503 first. After `TRIBUTARY_DRAIN_MS` the server takes no more requests and finishes
 * those in flight, before anything that was opened earlier closes.
 */
export async function serve(
  config: HttpConfig,
  { logger, registry, elapsed, onClose, checks, troubles, traces }: Serves,
  register: (app: FastifyInstance, health: Health) => Promise<void>,
  needs: HealthDeps['needs'] = [],
): Promise<Serving> {
  const app = createHttpApp({ logger, trusted_proxies: config.TRIBUTARY_TRUSTED_PROXIES, traces })
  const health = createHealth({ checks, now: elapsed, registry, troubles, needs })
  health.routes(app)
  await register(app, health)
  const host = config.TRIBUTARY_HOST
  await app
    .listen({ port: config.TRIBUTARY_PORT, host, backlog: limits.connections_waiting_max })
    .catch(refuseAddress(config))
  onClose('http', () => app.close())
  onClose('readiness', async () => {
    health.stopping()
    await pause(config.TRIBUTARY_DRAIN_MS)
  })
  health.started()
  const { port } = app.server.address() as AddressInfo
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  logger.info({ url }, 'listening')
  return { url, health }
}

/** Throws `StartRefused` for an address that can't be listened on, before the start has made or opened anything. */
export async function requireAddress(config: HttpConfig): Promise<void> {
  const server = createServer().listen(config.TRIBUTARY_PORT, config.TRIBUTARY_HOST)
  await once(server, 'listening').catch(refuseAddress(config))
  server.close()
  await once(server, 'close')
}

/** The errors of `listen`: an unknown name, the address of another machine, a port that is taken or privileged. */
const refuseAddress =
  ({ TRIBUTARY_HOST: host, TRIBUTARY_PORT: port }: HttpConfig) =>
  (error: NodeJS.ErrnoException): never => {
    if (error.code === undefined) throw error
    const isPortWrong = error.code === 'EADDRINUSE' || error.code === 'EACCES'
    const fix = isPortWrong ? 'Set TRIBUTARY_PORT to another one.' : 'Set TRIBUTARY_HOST to an address of this machine.'
    throw new StartRefused(`Can't listen on ${host}, port ${port}: ${error.message}. ${fix}`, { cause: error })
  }
