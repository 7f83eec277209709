import type { RunConsumerOptions } from '@tributary/service-kit/consumer/run-consumer'
import { startConsumer } from '@tributary/service-kit/consumer/start-consumer'
import { openClickhouse, requireClickhouseSchema } from '@tributary/service-kit/engines/clickhouse'
import type { Service } from '@tributary/service-kit/service/run-service'
import type { Config } from './config.ts'
import { eventWriter } from './event-writer.ts'
import { startSweep } from './money/start-sweep.ts'

/** The event-writer on Kafka and a ClickHouse server; `crash` is for tests. */
export async function start(
  config: Config,
  service: Service,
  { crash }: Pick<RunConsumerOptions<never>, 'crash'> = {},
) {
  const { logger, registry } = service
  const clickhouse = await openClickhouse(config, service, { complete_reads: true })
  await requireClickhouseSchema(clickhouse)
  startSweep(clickhouse, service)
  return startConsumer(config, service, eventWriter({ clickhouse, registry, logger }), { ...(crash && { crash }) })
}
