import type { Broker } from '@tributary/broker/broker'
import { lagOf } from '@tributary/broker/unread'
import type { SystemStatus } from '@tributary/contracts/admin'
import type { ConsumerGroup } from '@tributary/contracts/consumers'
import type { Health } from './health.ts'

export interface StatusDeps {
  consumers: readonly ConsumerGroup[]
  broker: Pick<Broker, 'groupOffsets'>
  health: Pick<Health, 'isReady' | 'bindings'>
  now(): number
}

/** The lag of every consumer group and the state of the engines that this process uses (docs/rules.md#commands). */
export async function systemStatus({ consumers, broker, health, now }: StatusDeps): Promise<SystemStatus> {
  const states = consumers.map(async ({ name, topic }) => {
    const partitions = await broker.groupOffsets(name, topic.name)
    const lag = partitions.reduce((sum, partition) => sum + lagOf(partition), 0)
    const oldest = partitions.flatMap(({ oldest_unread_ms }) => (oldest_unread_ms === null ? [] : [oldest_unread_ms]))
    const oldest_unwritten_ms = lag > 0 && oldest.length > 0 ? Math.max(0, now() - Math.min(...oldest)) : null
    return { name, topic: topic.name, lag, oldest_unwritten_ms }
  })
  return { ready: await health.isReady(), consumers: await Promise.all(states), bindings: await health.bindings() }
}
