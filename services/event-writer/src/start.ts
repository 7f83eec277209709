import { openClickhouse, requireClickhouseSchema } from '@tributary/service-kit/engines/clickhouse'
import type { RunConsumerOptions } from '@tributary/service-kit/run-consumer'
import type { Service } from '@tributary/service-kit/run-service'
import { startConsumer } from '@tributary/service-kit/start-consumer'
import type { Config } from './config.ts'
import { eventWriter } from './event-writer.ts'
import { startSweep } from './start-sweep.ts'

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
