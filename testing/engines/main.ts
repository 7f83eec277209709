import { openAllEngines } from './all-engines.ts'
import { openEngine } from './open-engine.ts'

const help = `npm run --silent engines

Starts real Kafka, Redis, S3, PostgreSQL and ClickHouse engines for tests, and prints the settings with which Tributary
uses them, ready for eval. Ctrl-C stops the engines and deletes their data.`

if (process.argv.includes('--help')) {
  console.info(help)
  process.exit(0)
}

const { engines, settings, stop } = await openAllEngines(openEngine)
for (const [name, { origin }] of Object.entries(engines)) process.stderr.write(`${name} is ${origin}\n`)
for (const [name, value] of Object.entries(settings)) console.info(`export ${name}='${value}'`)
process.stderr.write('Ctrl-C stops the engines and deletes their data.\n')

const end = async () => {
  await stop()
  process.exit(0)
}
process.once('SIGINT', end)
process.once('SIGTERM', end)
// Keeps this process alive, which children do not.
setInterval(() => {}, 2 ** 30)
