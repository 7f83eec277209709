import { setTimeout as pause } from 'node:timers/promises'
import type { Broker } from '@tributary/broker/broker'
import { type ConsumerGroup, consumers } from '@tributary/contracts/consumers'

const poll_ms = 200

/** Resolves when a writer has written all that the log held at the call; rejects when the signal fires. */
export async function untilWritten(
  broker: Pick<Broker, 'groupOffsets'>,
  signal: AbortSignal,
  { name, topic }: ConsumerGroup = consumers.eventWriter,
): Promise<void> {
  const before = await broker.groupOffsets(name, topic.name)
  const ends = new Map(before.map(({ partition, end }) => [partition, end]))
  for (let now = before; ; now = await broker.groupOffsets(name, topic.name)) {
    const behind = now.some(({ partition, committed, earliest }) => (committed ?? earliest) < ends.get(partition)!)
    if (!behind) return
    await pause(poll_ms, undefined, { signal })
  }
}
