import type { Launch, Recipe } from '../engine.ts'
import { freePorts, probePort } from '../ports.ts'
import { installRedis, redisServer } from './install.ts'

/** Redis, from Debian. */
export const redis: Recipe = {
  name: 'redis',
  variable: 'TRIBUTARY_TEST_REDIS_URL',
  container: {
    image: 'redis:8.2',
    port: 6379,
    environment: () => ({}),
    url: (host, port) => `redis://${host}:${port}`,
  },
  install: installRedis,
  launch: (dir) => launch(dir, {}),
}

/** One node of a cluster. The caller joins the nodes with `CLUSTER MEET` and `CLUSTER ADDSLOTSRANGE`. */
export const redisNode: Recipe = {
  ...redis,
  async launch(dir) {
    const [bus = 0] = await freePorts(1)
    return launch(dir, { 'cluster-enabled': 'yes', 'cluster-port': String(bus), 'cluster-node-timeout': '1000' })
  },
}

async function launch(dir: string, more: Record<string, string>): Promise<Launch> {
  const [port = 0] = await freePorts(1)
  const settings = { port, bind: '127.0.0.1', dir, save: '', appendonly: 'yes', appendfsync: 'everysec', ...more }
  return {
    command: redisServer(),
    args: Object.entries(settings).flatMap(([key, value]) => [`--${key}`, String(value)]),
    url: `redis://127.0.0.1:${port}`,
    probe: () => probePort(port),
  }
}
