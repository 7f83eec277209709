import type { Broker, WholeRecord } from '@tributary/broker/broker'
import type { Decision } from '@tributary/contracts/attribution/decision'
import { topics } from '@tributary/contracts/topics'
import { decisionRecord } from '@tributary/tables/attribution/records'

/** Bytes of one call of `publish`. */
const publish_bytes_max = 4 * 1024 * 1024

/** Publishes decisions; durable when this resolves. */
export async function publishDecisions(broker: Broker, decisions: readonly Decision[]): Promise<void> {
  if (decisions.length === 0) return
  const partitions = await broker.partitionCount(topics.installsAttributed.name)
  await publishBounded(broker, decisions, (decision) => decisionRecord(decision, partitions))
}

/** A record is made when its turn has come: those of a whole batch are never in memory together. */
async function publishBounded<T>(broker: Broker, all: readonly T[], toRecord: (one: T) => WholeRecord): Promise<void> {
  let part: WholeRecord[] = []
  let bytes = 0
  for (const one of all) {
    const record = toRecord(one)
    if (part.length > 0 && bytes + record.value.length > publish_bytes_max) {
      await broker.publish(part)
      part = []
      bytes = 0
    }
    part.push(record)
    bytes += record.value.length
  }
  if (part.length > 0) await broker.publish(part)
}
