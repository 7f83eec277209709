import { existsSync } from 'node:fs'
import { request } from 'node:http'
import type { Recipe, RunningEngine } from '../engine.ts'
import { freePorts } from '../ports.ts'

const ping_ms_max = 1000

/** Whether a Docker engine answers at once. */
export function dockerAnswers(): Promise<boolean> {
  const host = process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock'
  if (!host.startsWith('unix://')) return Promise.resolve(true) // set on purpose: testcontainers reports a wrong address
  const socketPath = host.slice('unix://'.length)
  if (!existsSync(socketPath)) return Promise.resolve(false)
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const ping = request({ socketPath, path: '/_ping', timeout: ping_ms_max }, (answer) => {
    answer.resume()
    resolve(answer.statusCode === 200)
  })
  ping.on('timeout', () => ping.destroy())
  ping.on('error', () => resolve(false))
  ping.on('close', () => resolve(false))
  ping.end()
  return promise
}

/** Starts the engine from its official image. testcontainers removes it when this process ends, however it ends. */
export async function startContainer({ name, container }: Recipe): Promise<RunningEngine> {
  const { GenericContainer, Wait } = await import('testcontainers')
  const [free = 0] = await freePorts(1)
  const inside = container.port ?? free
  const started = await new GenericContainer(container.image)
    .withExposedPorts(container.port === null ? { container: free, host: free } : inside)
    .withEnvironment(container.environment(inside))
    .withWaitStrategy(Wait.forListeningPorts())
    .withStartupTimeout(120_000)
    .start()
  return {
    url: container.url(started.getHost(), started.getMappedPort(inside)),
    origin: `a container of ${container.image} (${name})`,
    stop: async () => void (await started.stop()),
  }
}
