import { openTargets } from '@tributary/domain/partner/targets'
import { erasedRecordsResource } from '@tributary/erasure/erased-records'
import { clickhouseEngine } from '@tributary/service-kit/resources/clickhouse'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { defineService } from '@tributary/service-kit/service/define-service'
import { removeOldKeys } from '@tributary/tables/partners/due-postbacks'
import { resolveHosts } from '@tributary/tenancy/resolve-host'
import { masterKeysResource } from '@tributary/tenancy/resources'
import { deliverer } from './deliver/deliver.ts'
import { forwarderMetrics, watchDue } from './metrics.ts'
import { eventForwarder } from './owe/event-forwarder.ts'
import { verdictForwarder } from './owe/verdict-forwarder.ts'

/** After a failure of PostgreSQL deliveries go on after this pause. */
const deliver_pause_ms = 1000
const old_keys_pause_ms = 600_000

/** Notifies partners of the installs and events that they brought. */
export const service = defineService({
  name: 'postback-forwarder',
  resources: {
    broker: kafkaEngine(),
    clickhouse: clickhouseEngine({ complete_reads: true }),
    postgres: postgresEngine,
    masterKeys: masterKeysResource,
    erased: erasedRecordsResource,
  },
  settings: ['TRIBUTARY_POSTBACK_ALLOWED_NETWORKS'],
  consumers: [verdictForwarder, eventForwarder],
  jobs: [
    {
      name: 'partner_deliveries',
      pause_ms: deliver_pause_ms,
      prepare({ config, registry, ...context }) {
        const { postgres, now, onClose } = context
        watchDue(registry, postgres, now)
        const delivering = deliverer({
          ...context,
          targets: openTargets(config.TRIBUTARY_POSTBACK_ALLOWED_NETWORKS),
          resolve: resolveHosts(),
          metrics: forwarderMetrics(registry, now),
        })
        onClose('partner deliveries', () => delivering.close())
        return delivering.work
      },
    },
    {
      name: 'partner_keys',
      pause_ms: old_keys_pause_ms,
      prepare:
        ({ postgres, now }) =>
        () =>
          removeOldKeys(postgres, now()),
    },
  ],
})
