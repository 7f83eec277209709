import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { defineService } from '@tributary/service-kit/service/define-service'
import { z } from 'zod'
import { purchaseAlerts } from './purchase-alerts.ts'

/** By currency, the largest amount without an alert: `USD:100,EUR:90`. */
const amounts = z
  .string()
  .regex(/^[A-Z]{3}:\d+(\.\d+)?(,[A-Z]{3}:\d+(\.\d+)?)*$/, 'needs currencies and amounts, such as USD:100,EUR:90')
  .transform((text): Record<string, number> => {
    const pairs = text.split(',').map((pair) => pair.split(':'))
    return Object.fromEntries(pairs.map(([currency, amount]) => [currency, Number(amount)]))
  })

export const service = defineService({
  name: 'purchase-alerts',
  resources: { broker: kafkaEngine() },
  variables: z.object({
    PURCHASE_ALERTS_WEBHOOK_URL: z.url({ protocol: /^https?$/ }),
    PURCHASE_ALERTS_ABOVE: amounts,
    PURCHASE_ALERTS_TIMEOUT_MS: z.coerce.number().int().min(1).default(10_000),
  }),
  consumers: [
    ({ config }) =>
      purchaseAlerts({
        webhook_url: config.PURCHASE_ALERTS_WEBHOOK_URL,
        above: config.PURCHASE_ALERTS_ABOVE,
        timeout_ms: config.PURCHASE_ALERTS_TIMEOUT_MS,
      }),
  ],
})
