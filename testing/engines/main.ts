import { openAllEngines } from './all-engines.ts'
import { openEngine } from './open-engine.ts'

/** `npm run engines`: every engine until Ctrl-C, and the settings that make Tributary use them. */
const { engines, settings, stop } = await openAllEngines(openEngine)
for (const [name, { origin }] of Object.entries(engines)) process.stderr.write(`${name} is ${origin}\n`)
for (const [name, value] of Object.entries(settings)) console.info(`export ${name}='${value}'`)
process.stderr.write('Ctrl-C ends them and deletes their data.\n')

const end = async () => {
  await stop()
  process.exit(0)
}
process.once('SIGINT', end)
process.once('SIGTERM', end)
// Children do not keep this process alive; this does.
setInterval(() => {}, 2 ** 30)
