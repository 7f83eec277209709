import type { Broker } from '@tributary/broker/broker'
import { type ConsumerGroup, consumers } from '@tributary/contracts/consumers'
import { isHandedOver } from '@tributary/service-kit/consumer/hand-over'
import { CliError } from '../errors.ts'

/**
 * Has the writers of events, and the verdicts and the money that follow, read the log again from its earliest record when they start.
 * Throws CliError `writers_running` unless they are stopped.
 */
export async function readLogAgain(broker: Broker): Promise<void> {
  for (const group of [consumers.eventWriter, consumers.receiptValidator])
    await move(broker, group, ({ earliest }) => earliest)
}

/** Throws CliError `writers_running` unless the writers of clicks and of postbacks are stopped. They go on where they are. */
export async function requireOthersStopped(broker: Broker): Promise<void> {
  for (const group of [consumers.clickWriter, consumers.postbackWriter])
    await move(broker, group, ({ committed }) => committed)
}

type Offsets = Awaited<ReturnType<Broker['groupOffsets']>>[number]

/** The log refuses to move a group that has members. */
async function move(broker: Broker, { name, topic }: ConsumerGroup, offsetOf: (of: Offsets) => number | null) {
  const found = await broker.groupOffsets(name, topic.name)
  const offsets = found.flatMap((one) => {
    const offset = isHandedOver(one.metadata) ? null : offsetOf(one)
    return offset === null ? [] : [{ partition: one.partition, offset }]
  })
  if (offsets.length === 0) return
  await broker.moveGroup(name, topic.name, offsets).catch((error: Error) => {
    if (!/running instances|has members/.test(error.message)) throw error
    throw new CliError('writers_running', `Stop all of ${name} first: ${error.message}`)
  })
}
