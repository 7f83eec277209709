import { runService } from '@tributary/service-kit/service/run-service'
import { readConfig } from './config.ts'
import { startStandalone } from './standalone.ts'

/** `npm start`: everything in one process, on embedded parts where no setting names a server. */
await runService({
  name: 'standalone',
  readConfig,
  start: (config, service) => startStandalone(config, service, (line) => process.stdout.write(`${line}\n`)),
})
