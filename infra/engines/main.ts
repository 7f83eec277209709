import { openEngine } from './open-engine.ts'

/** `npm run engines`: every engine until Ctrl-C, and the settings that make Tributary use them. */
const [kafka, redis, s3, clickhouse] = await Promise.all([
  openEngine('kafka'),
  openEngine('redis'),
  openEngine('s3'),
  openEngine('clickhouse'),
])
const engines = [kafka, redis, s3, clickhouse]
for (const { url, origin } of engines) process.stderr.write(`${url} is ${origin}\n`)
const settings = {
  TRIBUTARY_KAFKA_BROKERS: kafka.url,
  TRIBUTARY_CLICKHOUSE_URL: clickhouse.url,
  TRIBUTARY_REDIS_URL: redis.url,
  TRIBUTARY_S3_ENDPOINT: s3.url,
  TRIBUTARY_S3_BUCKET: 'tributary',
}
for (const [name, value] of Object.entries(settings)) console.info(`export ${name}=${value}`)
process.stderr.write('Ctrl-C ends them and deletes their data.\n')

const stop = async () => {
  await Promise.allSettled(engines.map((engine) => engine.stop()))
  process.exit(0)
}
process.once('SIGINT', stop)
process.once('SIGTERM', stop)
// Children do not keep this process alive; this does.
setInterval(() => {}, 2 ** 30)
