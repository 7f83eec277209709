import type { Broker } from '@tributary/broker/broker'
import type { Service } from '../service/run-service.ts'
import type { Surroundings } from '../service/service-parts.ts'
import type { MisfitTroubles } from '../service/troubles/misfit-troubles.ts'
import type { ConsumerDefinition } from './define-consumer.ts'
import { gatedConsumer } from './gated-consumer.ts'
import { type RunConsumerOptions, runConsumer } from './run-consumer.ts'

type Context = Pick<Service, 'logger' | 'registry' | 'now' | 'onClose' | 'traces'> &
  Pick<Surroundings, 'disk'> & { broker: Broker }
type Options = { misfits: MisfitTroubles } & Pick<RunConsumerOptions<unknown>, 'reread' | 'crash'>

/**
 * Runs consumers until the service closes. While the disk of the process is full they wait. Throws for a consumer
 * without tombstones whose group pins them: it would bring back what was erased.
 */
export async function startConsumers(
  consumers: readonly ConsumerDefinition<unknown>[],
  { broker, logger, registry, now, onClose, disk, traces }: Context,
  options: Options,
): Promise<void> {
  for (const definition of consumers) {
    const { name, pins_tombstones, tombstones, appOf } = definition
    if ((pins_tombstones === undefined) !== (tombstones === undefined))
      throw new Error(`The consumer ${name} and its group differ in whether it pins tombstones.`)
    if (tombstones !== undefined && appOf === undefined)
      throw new Error(`The consumer ${name} pins tombstones and does not tell the apps of its records.`)
    const consumer = disk === undefined ? definition : gatedConsumer(definition, disk)
    const running = await runConsumer({ broker, consumer, logger, registry, now, traces, ...options })
    onClose(consumer.name, () => running.close())
  }
}
