import { setTimeout as sleep } from 'node:timers/promises'
import { TopicsRefused } from '@tributary/broker/broker'
import { topics } from '@tributary/contracts/topics'
import {
  clickhouseSettings,
  openClickhouse,
  requireClickhouseSchema,
} from '@tributary/service-kit/resources/clickhouse'
import { EngineRefused, toRefusal } from '@tributary/service-kit/resources/engine-refused'
import { kafkaSettings, openKafka } from '@tributary/service-kit/resources/kafka'
import { openPostgresServer, postgresSettings, requirePostgresSchema } from '@tributary/service-kit/resources/postgres'
import { openRedis, redisSettings } from '@tributary/service-kit/resources/redis'
import { requireTopics } from '@tributary/service-kit/resources/require-topics'
import { openS3, s3Settings } from '@tributary/service-kit/resources/s3'
import type { Service } from '@tributary/service-kit/service/run-service'
import { readEngineSettings } from '../config.ts'
import { withService } from '../engines/brief-service.ts'
import { everyTopic, fixes } from '../engines/topics.ts'
import { type Check, check_ms_max, failed, passed } from './check.ts'

/** Describes a healthy engine. Throws `EngineRefused` for any other. */
type Examination = (service: Service) => Promise<string>

/** Checks all servers of the settings in parallel, each for `check_ms_max` at most. */
export function examineEngines(): Promise<Check[]> {
  const config = readEngineSettings(
    [...kafkaSettings, ...clickhouseSettings, ...postgresSettings, ...redisSettings, ...s3Settings],
    [],
  )
  const {
    TRIBUTARY_KAFKA_BROKERS: brokers,
    TRIBUTARY_POSTGRES_URL: postgres,
    TRIBUTARY_CLICKHOUSE_URL: clickhouse,
    TRIBUTARY_REDIS_URL: redis,
    TRIBUTARY_S3_BUCKET: bucket,
  } = config
  const checks: Promise<Check>[] = []
  const look = (name: string, setting: string, examination: Examination) =>
    checks.push(within(name, setting, examination))
  if (brokers) look('kafka', 'TRIBUTARY_KAFKA_BROKERS', kafkaCheck({ ...config, TRIBUTARY_KAFKA_BROKERS: brokers }))
  if (postgres)
    look('postgresql', 'TRIBUTARY_POSTGRES_URL', postgresCheck({ ...config, TRIBUTARY_POSTGRES_URL: postgres }))
  if (clickhouse)
    look('clickhouse', 'TRIBUTARY_CLICKHOUSE_URL', clickhouseCheck({ ...config, TRIBUTARY_CLICKHOUSE_URL: clickhouse }))
  if (redis) look('redis', 'TRIBUTARY_REDIS_URL', redisCheck({ TRIBUTARY_REDIS_URL: redis }))
  if (bucket) look('s3', 'TRIBUTARY_S3_BUCKET', s3Check({ ...config, TRIBUTARY_S3_BUCKET: bucket }))
  return Promise.all(checks)
}

async function within(name: string, setting: string, examination: Examination): Promise<Check> {
  const late = new AbortController()
  const silent = sleep(check_ms_max, null, { signal: late.signal }).then(
    () => failed(name, `no answer in ${check_ms_max / 1000} seconds`, `Is it running, and is ${setting} right?`),
    () => failed(name, 'not waited for', ''),
  )
  const looked = withService(async (service) => passed(name, await examination(service))).catch((error: unknown) => {
    const refusal = toRefusal(name, setting, error)
    if (refusal instanceof EngineRefused) return failed(name, refusal.reason, refusal.fix)
    return failed(name, refusal.message, `Check ${setting} and the settings that belong to it.`)
  })
  const check = await Promise.race([looked, silent])
  late.abort()
  return check
}

const kafkaCheck =
  (config: Parameters<typeof openKafka>[0]): Examination =>
  async (service) => {
    const broker = await openKafka(config, service)
    await requireTopics(broker, Object.values(topics))
    const { changed } = await broker.applyTopics(everyTopic(), { dryRun: true }).catch((error: unknown) => {
      if (error instanceof TopicsRefused) throw new EngineRefused(error.message, fixes[error.code])
      throw error
    })
    const [first] = changed
    if (first !== undefined) {
      const found = `${first.topic} has ${first.setting} ${first.from}, not ${first.to}.`
      throw new EngineRefused(found, 'Run: npx tributary topics apply')
    }
    return `${config.TRIBUTARY_KAFKA_BROKERS.join(',')}, all topics exist`
  }

const postgresCheck =
  (config: Parameters<typeof openPostgresServer>[0]): Examination =>
  async (service) => {
    const pool = openPostgresServer(config, service)
    await requirePostgresSchema(pool)
    const { rows } = await pool.query<{ server_version: string }>('SHOW server_version')
    return `PostgreSQL ${rows[0]?.server_version}, migrated`
  }

const clickhouseCheck =
  (config: Parameters<typeof openClickhouse>[0]): Examination =>
  async (service) => {
    const query_ms_max = Math.min(config.TRIBUTARY_CLICKHOUSE_QUERY_TIMEOUT_MS, check_ms_max)
    const clickhouse = await openClickhouse({ ...config, TRIBUTARY_CLICKHOUSE_QUERY_TIMEOUT_MS: query_ms_max }, service)
    await requireClickhouseSchema(clickhouse)
    const [server] = await clickhouse.query<{ version: string }>('SELECT version() AS version')
    const found = `ClickHouse ${server?.version}, migrated`
    if (Number.parseInt(server?.version ?? '', 10) >= clickhouse_version_min) return found
    throw new EngineRefused(
      `${found}.`,
      `Use ClickHouse ${clickhouse_version_min} or newer: exactly-once inserts need it.`,
    )
  }

/** Older versions give the settings of deduplication another meaning, and were never tested. */
const clickhouse_version_min = 26

const redisCheck =
  (config: Parameters<typeof openRedis>[0]): Examination =>
  async (service) => {
    const keyValue = await openRedis(config, service)
    // Writes by script, as gateways do. A ping would also pass on a replica, or for a user without rights.
    await keyValue.addCapped('doctor', 1, null, 60_000)
    return 'counts'
  }

/** All checks use one object, so that checks do not fill a bucket that never deletes. `audit-days.ts` names its folder as no app's. */
const doctorObject = 'doctor/write-once'

const s3Check =
  (config: Parameters<typeof openS3>[0]): Examination =>
  async (service) => {
    const audit = await openS3(config, service)
    await audit.putOnce(doctorObject, Buffer.from('first'))
    const again = await audit.putOnce(doctorObject, Buffer.from('second'))
    if (again === 'exists') return `bucket ${config.TRIBUTARY_S3_BUCKET}, objects can't be overwritten`
    throw new EngineRefused(
      `The server of bucket ${config.TRIBUTARY_S3_BUCKET} overwrites objects: it ignores If-None-Match.`,
      'Use a server that supports it, such as Amazon S3: audit objects must never be overwritten.',
    )
  }
