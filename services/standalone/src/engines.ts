import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openFolderAuditStore } from '@tributary/audit-store/folder'
import { type EmbeddedBrokerOptions, openEmbeddedBroker } from '@tributary/broker/embedded'
import { openEmbeddedClickhouse } from '@tributary/clickhouse/embedded'
import { migrateClickhouse } from '@tributary/clickhouse/migrate'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { openEmbeddedKeyValue } from '@tributary/key-value/embedded'
import { openEmbeddedPostgres } from '@tributary/postgres/embedded-postgres'
import { migratePostgres } from '@tributary/postgres/migrate'
import { openPostgres } from '@tributary/postgres/postgres'
import type { OnClose } from '@tributary/service-kit/run-service'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'

/** One process consumes everything here: more partitions would only mean smaller inserts. */
export const standalonePartitions = 4

export interface EngineDeps {
  data_dir: string
  logger: Logger
  now: () => number
  registry: Registry
  onClose: OnClose
}

/** Opens the embedded engines of a data folder side by side, migrated and with their topics. */
export async function openEngines({ data_dir, logger, now, registry, onClose }: EngineDeps) {
  const dir = (name: string) => {
    const path = join(data_dir, name)
    mkdirSync(path, { recursive: true, mode: 0o700 })
    return path
  }
  const opening = {
    pool: openDatabase(dir('postgres'), logger, onClose),
    clickhouse: openAnalytics(dir('clickhouse'), logger, onClose),
    broker: openLog({ dir: dir('log'), now, logger, registry, partitions: standalonePartitions }, onClose),
    keyValue: openEmbeddedKeyValue({ dir: dir('key-value'), now }).then((keyValue) => {
      onClose('key-value', () => keyValue.close())
      return keyValue
    }),
    audit: openFolderAuditStore({ dir: dir('audit') }).then((audit) => {
      onClose('audit store', () => audit.close())
      return audit
    }),
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
export type Engines = Awaited<ReturnType<typeof openEngines>>

async function openDatabase(data_dir: string, logger: Logger, onClose: OnClose) {
  const server = await openEmbeddedPostgres({ data_dir, logger })
  onClose('postgres', () => server.close())
  const pool = openPostgres({ url: server.url, pool_max: 8, statement_timeout_ms: 10_000, connect_timeout_ms: 5000 })
  onClose('postgres pool', () => pool.end())
  await migratePostgres({ pool })
  return pool
}

async function openAnalytics(data_dir: string, logger: Logger, onClose: OnClose) {
  const clickhouse = await openEmbeddedClickhouse({ data_dir, logger })
  onClose('clickhouse', () => clickhouse.close())
  await migrateClickhouse({ clickhouse })
  return clickhouse
}

async function openLog(options: EmbeddedBrokerOptions, onClose: OnClose) {
  const broker = await openEmbeddedBroker(options)
  onClose('log', () => broker.close())
  const all = Object.values(topics)
  await broker.applyTopics([...all, ...all.map(deadLetterTopic)])
  return broker
}
