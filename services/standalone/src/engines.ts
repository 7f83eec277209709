import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { AuditStore } from '@tributary/audit-store/audit-store'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { createMergeSwitch } from '@tributary/clickhouse/embedded/merge-switch'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import type { KeyValue } from '@tributary/key-value/key-value'
import { migratePostgres } from '@tributary/postgres/migrate'
import { openPostgres } from '@tributary/postgres/postgres'
import { openClickhouse, requireClickhouseSchema } from '@tributary/service-kit/engines/clickhouse'
import { openKafka, requireTopics } from '@tributary/service-kit/engines/kafka'
import { openPostgresServer, requirePostgresSchema } from '@tributary/service-kit/engines/postgres'
import { openRedis } from '@tributary/service-kit/engines/redis'
import { openS3 } from '@tributary/service-kit/engines/s3'
import { type DiskWatch, disk_look_ms } from '@tributary/service-kit/service/disk-watch'
import { every } from '@tributary/service-kit/service/every'
import type { Service } from '@tributary/service-kit/service/run-service'
import type { Pool } from 'pg'
import type { Config } from './config.ts'

/** One process consumes everything here: more partitions would only mean smaller inserts. */
const embedded_partitions = 4

/**
 * Opens the engines side by side: the server that a setting names, else the embedded one in the data folder, migrated
 * and with its topics. Servers are never migrated from here.
 */
export async function openEngines(config: Config, data_dir: string, disk: DiskWatch, service: Service) {
  const dir = (name: string) => {
    const path = join(data_dir, name)
    mkdirSync(path, { recursive: true, mode: 0o700 })
    return path
  }
  const opening = {
    pool: openDatabase(config, dir, service),
    clickhouse: openAnalytics(config, dir, disk, service),
    broker: openLog(config, dir, disk, service),
    keyValue: openCounters(config, dir, service),
    audit: openAudit(config, dir, service),
  }
  // All of them settle before a failure is passed on, so that whatever did open has registered its close.
  await Promise.allSettled(Object.values(opening))
  return {
    pool: await opening.pool,
    clickhouse: await opening.clickhouse,
    broker: await opening.broker,
    keyValue: await opening.keyValue,
    audit: await opening.audit,
  }
}

type Dir = (name: string) => string
/** What a configuration is once the setting of an engine is known to be there. */
type With<Name extends keyof Config> = Config & { [N in Name]: NonNullable<Config[N]> }
const has = <Name extends keyof Config>(config: Config, name: Name): config is With<Name> => config[name] !== undefined

// Embedded engines are loaded only where they are used: a process on servers alone needs none of them installed.

async function openDatabase(config: Config, dir: Dir, service: Service): Promise<Pool> {
  if (has(config, 'TRIBUTARY_POSTGRES_URL')) {
    const pool = openPostgresServer(config, service)
    await requirePostgresSchema(pool)
    return pool
  }
  const { openEmbeddedPostgres } = await import('@tributary/postgres/embedded/embedded-postgres')
  const { logger, onClose, checks } = service
  const server = await openEmbeddedPostgres({ data_dir: dir('postgres'), logger })
  onClose('postgres', () => server.close())
  const pool = openPostgres({
    url: server.url,
    pool_max: config.TRIBUTARY_POSTGRES_POOL_MAX,
    statement_timeout_ms: config.TRIBUTARY_POSTGRES_STATEMENT_TIMEOUT_MS,
    connect_timeout_ms: 5000,
  })
  onClose('postgres pool', () => pool.end())
  checks.database = async () => void (await pool.query('SELECT 1'))
  await migratePostgres({ pool })
  return pool
}

async function openAnalytics(config: Config, dir: Dir, disk: DiskWatch, service: Service): Promise<Clickhouse> {
  if (has(config, 'TRIBUTARY_CLICKHOUSE_URL')) {
    const clickhouse = await openClickhouse(config, service, { complete_reads: true })
    await requireClickhouseSchema(clickhouse)
    return clickhouse
  }
  const { openEmbeddedClickhouse } = await import('@tributary/clickhouse/embedded')
  const { logger, registry, onClose, checks } = service
  const clickhouse = await openEmbeddedClickhouse({ data_dir: dir('clickhouse'), logger })
  onClose('clickhouse', () => clickhouse.close())
  const merges = createMergeSwitch(clickhouse)
  const switching = every({
    ...{ name: 'merge_switch', pause_ms: disk_look_ms, logger, registry },
    work: () => merges.set(disk.open()),
  })
  onClose('merge switch', () => switching.close())
  checks.analytics = () => clickhouse.checkHealth()
  await migrateClickhouse({ clickhouse })
  return clickhouse
}

async function openLog(config: Config, dir: Dir, disk: DiskWatch, service: Service): Promise<Broker> {
  const all = Object.values(topics)
  if (has(config, 'TRIBUTARY_KAFKA_BROKERS')) {
    const broker = await openKafka(config, service)
    await requireTopics(broker, all)
    return broker
  }
  const { openEmbeddedBroker } = await import('@tributary/broker/embedded')
  const { logger, registry, now, onClose, checks } = service
  const broker = await openEmbeddedBroker({
    ...{ dir: dir('log'), now, logger, registry, partitions: embedded_partitions },
    hasSpace: disk.open,
  })
  onClose('log', () => broker.close())
  checks.queues = () => broker.checkHealth()
  await broker.applyTopics([...all, ...all.map(deadLetterTopic)])
  return broker
}

async function openCounters(config: Config, dir: Dir, service: Service): Promise<KeyValue> {
  if (has(config, 'TRIBUTARY_REDIS_URL')) return openRedis(config, service)
  const { openEmbeddedKeyValue } = await import('@tributary/key-value/embedded')
  const keyValue = await openEmbeddedKeyValue({ dir: dir('key-value'), now: service.now })
  service.onClose('key-value', () => keyValue.close())
  service.checks.key_value = () => keyValue.checkHealth()
  return keyValue
}

async function openAudit(config: Config, dir: Dir, service: Service): Promise<AuditStore> {
  if (has(config, 'TRIBUTARY_S3_BUCKET')) return openS3(config, service)
  const { openFolderAuditStore } = await import('@tributary/audit-store/folder')
  const audit = await openFolderAuditStore({ dir: dir('audit') })
  service.onClose('audit store', () => audit.close())
  service.checks.object_storage = () => audit.checkHealth()
  return audit
}
