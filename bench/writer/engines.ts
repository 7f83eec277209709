import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Broker } from '@tributary/broker/broker'
import { openEmbeddedBroker } from '@tributary/broker/embedded'
import { openKafkaBroker } from '@tributary/broker/kafka'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { openEmbeddedClickhouse } from '@tributary/clickhouse/embedded'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import { openEngine } from '@tributary/testing/engines/open-engine'
import { pino } from 'pino'

export interface WriterEngines {
  clickhouse: Clickhouse
  broker: Broker
  /** Closes both and deletes their data. */
  close(): Promise<void>
}

interface BenchLog {
  broker: Broker
  /** Closes it and deletes its data. */
  close(): Promise<void>
}

/** A log inside this process. */
export async function openEmbeddedLog(partitions: number): Promise<BenchLog> {
  const dir = mkdtempSync(join(tmpdir(), 'tributary-bench-log-'))
  const broker = await openEmbeddedBroker({ dir, now: Date.now, partitions })
  return {
    broker,
    async close() {
      await broker.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** Real Kafka. */
export async function openKafkaLog(): Promise<BenchLog> {
  const kafka = await openEngine('kafka')
  const broker = await openKafkaBroker({
    ...{ brokers: [kafka.url], client_id: 'bench', logger: pino({ level: 'warn' }) },
    ...{ linger_ms: 5, send_bytes_max: 1_000_000, buffer_bytes_max: 64 * 1024 * 1024 },
  })
  return {
    broker,
    async close() {
      await broker.close()
      await kafka.stop()
    },
  }
}

/** Log and ClickHouse inside this process. The data of a folder that is given stays. */
export async function openEmbedded(partitions: number, kept_dir?: string): Promise<WriterEngines> {
  const data_dir = kept_dir ?? mkdtempSync(join(tmpdir(), 'tributary-bench-writer-'))
  const clickhouse = await openEmbeddedClickhouse({ data_dir: join(data_dir, 'clickhouse') })
  const log = await openEmbeddedLog(partitions)
  return {
    clickhouse,
    broker: log.broker,
    async close() {
      await log.close()
      await clickhouse.close()
      if (kept_dir === undefined) rmSync(data_dir, { recursive: true, force: true })
    },
  }
}

/** Real Kafka, and ClickHouse behind its HTTP protocol, so that this process costs only the writer. */
export async function openServers(): Promise<WriterEngines> {
  const [log, server] = await Promise.all([openKafkaLog(), openEngine('clickhouse')])
  const logger = pino({ level: 'warn' })
  const clickhouse = await openClickhouseServer({
    ...{ url: server.url, logger, max_open_connections: 16, connect_timeout_ms: 2000, query_timeout_ms: 120_000 },
  })
  return {
    clickhouse,
    broker: log.broker,
    async close() {
      await clickhouse.close()
      await Promise.all([log.close(), server.stop()])
    },
  }
}
