import type { Gate } from '../service/disk-watch.ts'
import type { ConsumerDefinition } from './define-consumer.ts'

/** The consumer, which waits with each batch until the gate is open. A waiting batch keeps its partition. */
export const gatedConsumer = <T>(consumer: ConsumerDefinition<T>, gate: Gate): ConsumerDefinition<T> => ({
  ...consumer,
  async handle(batch) {
    await gate.opened(batch.signal)
    await consumer.handle(batch)
  },
})
