import { openKafka, requireTopics } from '../engines/kafka.ts'
import { type Serving, serve } from '../http/serve.ts'
import { createMisfitTroubles } from '../service/misfit-troubles.ts'
import type { Service } from '../service/run-service.ts'
import type { ConsumerDefinition } from './define-consumer.ts'
import { type RunConsumerOptions, runConsumer } from './run-consumer.ts'

type ConsumerConfig = Parameters<typeof openKafka>[0] & Parameters<typeof serve>[0]

/**
 * Runs a consumer on Kafka as a process of its own, with `/health`, `/ready` and `/metrics`: what `runService` starts.
 * Throws `StartRefused` when its topics are missing. `crash` is for tests.
 */
export async function startConsumer<T>(
  config: ConsumerConfig,
  service: Service,
  consumer: ConsumerDefinition<T>,
  { crash }: Pick<RunConsumerOptions<T>, 'crash'> = {},
): Promise<Serving> {
  const broker = await openKafka(config, service)
  await requireTopics(broker, [consumer.topic])
  const { logger, registry, now, onClose, troubles } = service
  const misfits = createMisfitTroubles({ tables_on_server: true })
  troubles.push(misfits.troubles)
  const running = await runConsumer({
    broker,
    consumer,
    logger,
    registry,
    now,
    misfits,
    ...(crash && { crash }),
  })
  onClose(consumer.name, () => running.close())
  return serve(config, service, async () => {})
}
