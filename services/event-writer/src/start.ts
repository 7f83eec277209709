import { topics } from '@tributary/contracts/topics'
import { openClickhouse, requireClickhouseSchema } from '@tributary/service-kit/engines/clickhouse'
import { openKafka, requireTopics } from '@tributary/service-kit/engines/kafka'
import { type RunConsumerOptions, runConsumer } from '@tributary/service-kit/run-consumer'
import type { Service } from '@tributary/service-kit/run-service'
import { serve } from '@tributary/service-kit/serve'
import type { Config } from './config.ts'
import { eventWriter } from './event-writer.ts'

/** The event-writer on Kafka and a ClickHouse server; `crash` is for tests. */
export async function start(
  config: Config,
  service: Service,
  { crash }: Pick<RunConsumerOptions<never>, 'crash'> = {},
) {
  const [broker, clickhouse] = await Promise.all([openKafka(config, service), openClickhouse(config, service)])
  await Promise.all([requireTopics(broker, [topics.eventsAccepted]), requireClickhouseSchema(clickhouse)])
  const { logger, registry, now, onClose } = service
  const consumer = eventWriter({ clickhouse, registry, logger })
  const running = await runConsumer({
    broker,
    consumer,
    generation: '1',
    logger,
    registry,
    now,
    ...(crash && { crash }),
  })
  onClose(consumer.name, () => running.close())
  return serve(config, service, async () => {})
}
