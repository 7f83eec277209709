import { randomBytes } from 'node:crypto'
import type { EngineName, RunningEngine } from './engine.ts'

export interface AllEngines<Engine extends RunningEngine> {
  engines: Record<EngineName, Engine>
  /** The settings with which Tributary uses these engines, with new secrets. */
  settings: Record<string, string>
  /** Stops all engines and deletes their data. */
  stop(): Promise<void>
}

/** Opens all engines with `open`. When one is unavailable, stops the others and throws. */
export async function openAllEngines<Engine extends RunningEngine>(
  open: (name: EngineName) => Promise<Engine>,
): Promise<AllEngines<Engine>> {
  const names: EngineName[] = ['kafka', 'clickhouse', 'postgres', 'redis', 's3']
  const opened = await Promise.allSettled(names.map(async (name) => [name, await open(name)] as const))
  const running = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const stop = async () => void (await Promise.allSettled(running.map(([, engine]) => engine.stop())))
  const failed = opened.find((one) => one.status === 'rejected')
  if (failed !== undefined) {
    await stop()
    throw failed.reason
  }
  const engines = Object.fromEntries(running) as Record<EngineName, Engine>
  return { engines, settings: settingsOf(engines), stop }
}

const settingsOf = (engines: Record<EngineName, RunningEngine>): Record<string, string> => ({
  TRIBUTARY_KAFKA_BROKERS: engines.kafka.url,
  TRIBUTARY_KAFKA_REPLICATION_FACTOR: '1',
  TRIBUTARY_KAFKA_MIN_INSYNC_REPLICAS: '1',
  TRIBUTARY_CLICKHOUSE_URL: `${engines.clickhouse.url}/tributary`,
  TRIBUTARY_POSTGRES_URL: engines.postgres.url,
  TRIBUTARY_REDIS_URL: engines.redis.url,
  TRIBUTARY_S3_ENDPOINT: engines.s3.url,
  TRIBUTARY_S3_BUCKET: 'tributary',
  // S3Mock accepts any credentials.
  TRIBUTARY_S3_ACCESS_KEY_ID: 'tributary',
  TRIBUTARY_S3_SECRET_ACCESS_KEY: 'tributary',
  TRIBUTARY_MASTER_KEY: randomBytes(32).toString('base64'),
  TRIBUTARY_ADMIN_TOKEN: randomBytes(16).toString('hex'),
})
