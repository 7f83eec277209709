import { erasedRecordsResource } from '@tributary/erasure/erased-records'
import { clickhouseEngine } from '@tributary/service-kit/resources/clickhouse'
import { kafkaEngine } from '@tributary/service-kit/resources/kafka'
import { postgresEngine } from '@tributary/service-kit/resources/postgres'
import { defineService } from '@tributary/service-kit/service/define-service'
import { stampsResource } from '@tributary/tables/raw/stamps'
import { masterKeysResource } from '@tributary/tenancy/resources'
import { eventWriter } from './event-writer.ts'
import { cancelledTotal } from './money/cancelled-total.ts'
import { transactionSweep } from './money/sweep-transactions.ts'

/** Maximum time for which a transaction may count twice, or by a claim of a lower rank. */
const sweep_pause_ms = 60_000

/** Writes accepted events to ClickHouse, each exactly once. */
export const service = defineService({
  name: 'event-writer',
  resources: {
    broker: kafkaEngine(),
    clickhouse: clickhouseEngine({ complete_reads: true }),
    postgres: postgresEngine,
    masterKeys: masterKeysResource,
    erased: erasedRecordsResource,
    stamps: stampsResource,
  },
  consumers: [eventWriter],
  jobs: [
    {
      name: 'transaction_sweep',
      pause_ms: sweep_pause_ms,
      prepare({ clickhouse, registry }) {
        const sweep = transactionSweep(clickhouse)
        const cancelled = cancelledTotal(registry)
        return async () => cancelled.inc(await sweep())
      },
    },
  ],
})
