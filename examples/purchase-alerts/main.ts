import { runService } from '@tributary/service-kit/run-service'
import { startConsumer } from '@tributary/service-kit/start-consumer'
import { readConfig } from './config.ts'
import { purchaseAlerts } from './purchase-alerts.ts'

await runService({
  name: 'purchase-alerts',
  readConfig,
  start: (config, service) => startConsumer(config, service, purchaseAlerts(config.alerts)),
})
