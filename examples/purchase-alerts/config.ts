import { kafkaSettings } from '@tributary/service-kit/engines/kafka'
import { httpSettings } from '@tributary/service-kit/http/serve'
import { StartRefused } from '@tributary/service-kit/service/run-service'
import { readSettings } from '@tributary/service-kit/settings/read-settings'
import { z } from 'zod'

const Alerts = z.object({
  PURCHASE_ALERTS_WEBHOOK_URL: z.url({ protocol: /^https?$/ }),
  PURCHASE_ALERTS_ABOVE: z
    .string()
    .regex(/^[A-Z]{3}:\d+(\.\d+)?(,[A-Z]{3}:\d+(\.\d+)?)*$/, 'needs currencies and amounts, such as USD:100,EUR:90')
    .transform((text): Record<string, number> => {
      const pairs = text.split(',').map((pair) => pair.split(':'))
      return Object.fromEntries(pairs.map(([currency, amount]) => [currency, Number(amount)]))
    }),
  PURCHASE_ALERTS_TIMEOUT_MS: z.coerce.number().int().min(1).default(10_000),
})

/** The settings of the process: those of Kafka and HTTP, and its own. Throws `StartRefused` for what is wrong. */
export function readConfig() {
  const config = readSettings(process.env, [...httpSettings, ...kafkaSettings], ['TRIBUTARY_KAFKA_BROKERS'])
  const { success, data, error } = Alerts.safeParse(process.env)
  if (!success) throw new StartRefused(`These settings are wrong:\n${z.prettifyError(error)}`)
  const { PURCHASE_ALERTS_WEBHOOK_URL: webhook_url, PURCHASE_ALERTS_ABOVE: above } = data
  return { ...config, alerts: { webhook_url, above, timeout_ms: data.PURCHASE_ALERTS_TIMEOUT_MS } }
}
