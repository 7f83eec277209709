import { randomBytes } from 'node:crypto'
import { openEngine } from './open-engine.ts'

/** `npm run engines`: every engine until Ctrl-C, and the settings that make Tributary use them. */
const [kafka, redis, s3, clickhouse, postgres] = await Promise.all([
  openEngine('kafka'),
  openEngine('redis'),
  openEngine('s3'),
  openEngine('clickhouse'),
  openEngine('postgres'),
])
const engines = [kafka, redis, s3, clickhouse, postgres]
for (const { url, origin } of engines) process.stderr.write(`${new URL(withScheme(url)).host} is ${origin}\n`)
const settings = {
  TRIBUTARY_KAFKA_BROKERS: kafka.url,
  TRIBUTARY_KAFKA_REPLICATION_FACTOR: 1,
  TRIBUTARY_KAFKA_MIN_INSYNC_REPLICAS: 1,
  TRIBUTARY_CLICKHOUSE_URL: `${clickhouse.url}/tributary`,
  TRIBUTARY_POSTGRES_URL: postgres.url,
  TRIBUTARY_REDIS_URL: redis.url,
  TRIBUTARY_S3_ENDPOINT: s3.url,
  TRIBUTARY_S3_BUCKET: 'tributary',
  // S3Mock takes any.
  TRIBUTARY_S3_ACCESS_KEY_ID: 'tributary',
  TRIBUTARY_S3_SECRET_ACCESS_KEY: 'tributary',
  TRIBUTARY_MASTER_KEY: randomBytes(32).toString('base64'),
  TRIBUTARY_ADMIN_TOKEN: randomBytes(16).toString('hex'),
}
for (const [name, value] of Object.entries(settings)) console.info(`export ${name}='${value}'`)
process.stderr.write('Ctrl-C ends them and deletes their data.\n')

const stop = async () => {
  await Promise.allSettled(engines.map((engine) => engine.stop()))
  process.exit(0)
}
process.once('SIGINT', stop)
process.once('SIGTERM', stop)
// Children do not keep this process alive; this does.
setInterval(() => {}, 2 ** 30)

function withScheme(url: string): string {
  return url.includes('://') ? url : `kafka://${url}`
}
