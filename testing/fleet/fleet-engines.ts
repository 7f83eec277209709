import { randomUUID } from 'node:crypto'
import type { Broker } from '@tributary/broker/broker'
import { openKafkaBroker } from '@tributary/broker/kafka'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import pino from 'pino'
import type { EngineName, OwnEngine, Recipe } from '../engines/engine.ts'
import { openOwnEngine } from '../engines/open-engine.ts'
import { startOwnEngine } from '../engines/own-engine.ts'
import { clickhouse, migratedClickhouse } from '../engines/servers/clickhouse-http.ts'
import { kafkaWith } from '../engines/servers/kafka.ts'

/** Starts engines side by side. `isEmpty`: ClickHouse has no table yet; by default it has those that an earlier test left. */
export async function openEngines(
  names: readonly EngineName[],
  kafka: Record<string, string>,
  isEmpty: boolean,
): Promise<Map<EngineName, OwnEngine>> {
  const own: Partial<Record<EngineName, Recipe>> = {
    kafka: kafkaWith({ properties: kafka }),
    clickhouse: isEmpty ? clickhouse : migratedClickhouse,
  }
  const open = (name: EngineName) => {
    const recipe = own[name]
    return recipe === undefined ? openOwnEngine(name) : startOwnEngine(recipe)
  }
  const opened = await Promise.allSettled(names.map(async (name) => [name, await open(name)] as const))
  const engines = new Map(opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])))
  const failed = opened.find((one) => one.status === 'rejected')
  if (failed === undefined) return engines
  await Promise.all([...engines.values()].map((engine) => engine.stop()))
  throw failed.reason
}

const silent = pino({ level: 'silent' })

/** A client of the test itself. */
export const openKafka = (url: string): Promise<Broker> =>
  openKafkaBroker({
    brokers: [url],
    client_id: 'fleet-test',
    linger_ms: 2,
    send_bytes_max: 512 * 1024,
    buffer_bytes_max: 64 * 1024 * 1024,
    logger: silent,
  })

/** A client of the test itself. */
export const openClickhouse = (url: string): Promise<Clickhouse> =>
  openClickhouseServer({
    url,
    connect_timeout_ms: 2000,
    query_timeout_ms: 120_000,
    max_open_connections: 4,
    logger: silent,
  })

/** Settings that lead services to the engines. */
export function settingsOf(engines: Map<EngineName, OwnEngine>, master_key: string): Record<string, string> {
  const url = (name: EngineName) => engines.get(name)?.url ?? ''
  return {
    TRIBUTARY_LOG_LEVEL: 'warn',
    TRIBUTARY_MASTER_KEY: master_key,
    TRIBUTARY_KAFKA_BROKERS: url('kafka'),
    TRIBUTARY_CLICKHOUSE_URL: url('clickhouse'),
    TRIBUTARY_POSTGRES_URL: url('postgres'),
    TRIBUTARY_REDIS_URL: url('redis'),
    TRIBUTARY_S3_ENDPOINT: url('s3'),
    TRIBUTARY_S3_BUCKET: 'tributary',
    TRIBUTARY_S3_ACCESS_KEY_ID: 'test',
    TRIBUTARY_S3_SECRET_ACCESS_KEY: 'test',
  }
}

/** Makes a bucket for audit objects, and returns its name. Uses plain HTTP, because the test server checks no signature. */
export async function makeBucket(url: string): Promise<string> {
  const bucket = `audit-${randomUUID()}`
  const answer = await fetch(`${url}/${bucket}`, { method: 'PUT', signal: AbortSignal.timeout(20_000) })
  if (!answer.ok) throw new Error(`no bucket: ${answer.status} ${await answer.text()}`)
  return bucket
}
