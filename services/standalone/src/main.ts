import { createLogger } from '@tributary/service-kit/logger'
import { runService, StartRefused } from '@tributary/service-kit/run-service'
import { type Config, readConfig } from './config.ts'
import { startStandalone } from './standalone.ts'

/** `npm start`: everything in one process on embedded parts. */
function readConfigOrEnd(): Config {
  try {
    return readConfig()
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(1)
  }
}

const config = readConfigOrEnd()
const logger = createLogger({ name: 'standalone', level: config.log_level, pretty: process.stderr.isTTY === true })
await runService({
  logger,
  stop_ms_max: 20_000,
  start: async (onClose) => {
    await startStandalone({ config, logger, onClose, say: (line) => process.stdout.write(`${line}\n`) })
  },
})
