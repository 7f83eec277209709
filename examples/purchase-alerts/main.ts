import { startConsumer } from '@tributary/service-kit/consumer/start-consumer'
import { runService } from '@tributary/service-kit/service/run-service'
import { readConfig } from './config.ts'
import { purchaseAlerts } from './purchase-alerts.ts'

await runService({
  name: 'purchase-alerts',
  readConfig,
  start: (config, service) => startConsumer(config, service, purchaseAlerts(config.alerts)),
})
