import { tickRecord } from '@tributary/attribution/records'
import type { RedecisionList } from '@tributary/attribution/redecisions'
import type { Broker } from '@tributary/broker/broker'
import { lagOf } from '@tributary/broker/unread'
import { consumers } from '@tributary/contracts/consumers'

interface Deps {
  redecisions: Pick<RedecisionList, 'partitions'>
  broker: Pick<Broker, 'groupOffsets' | 'publish'>
}

/**
 * Begins a batch for re-decisions in each partition that has some and nothing unread; from then on each batch begins the next.
 * Any number of processes may run it: a batch too many finds nothing to do.
 */
export const redecisionsJob =
  ({ redecisions, broker }: Deps) =>
  async (): Promise<void> => {
    const waiting = new Set(await redecisions.partitions())
    if (waiting.size === 0) return
    const { name, topic } = consumers.installAttributor
    const offsets = await broker.groupOffsets(name, topic.name, { dated: false })
    const idle = offsets.filter((place) => waiting.has(place.partition) && lagOf(place) === 0)
    if (idle.length > 0) await broker.publish(idle.map(({ partition }) => tickRecord(partition)))
  }
