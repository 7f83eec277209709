import type { WholeRecord } from '@tributary/broker/broker'
import { installPartition } from '@tributary/broker/partition'
import type { EnvelopeFacts } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { joinBounded } from '../http/join-bounded.ts'

/** `"install_uuid":"..."` and what stands around it and the events; installs are of at most 64 characters. */
const install_bytes_max = 128

/**
 * The accepted events of a request as envelopes, one per install and split where a record would exceed
 * `limits.record_bytes_max`. A backend sends for many installs at once, so what their envelopes share is written once.
 */
export function eventRecords(
  facts: EnvelopeFacts,
  accepted: readonly { install_uuid: string }[],
  audit_key: string,
  partitions: number,
): WholeRecord[] {
  const { app_id } = facts
  const topic = topics.eventsAccepted.name
  const head = JSON.stringify(facts).slice(0, -1)
  const tail = `],"audit_key":${JSON.stringify(audit_key)}}`
  const events_bytes_max = limits.record_bytes_max - Buffer.byteLength(head + tail) - install_bytes_max
  const records: WholeRecord[] = []
  for (const [install_uuid, events] of Map.groupBy(accepted, (event) => event.install_uuid)) {
    const key = `${app_id}/${install_uuid}`
    const partition = installPartition(app_id, install_uuid, partitions)
    for (const items of joinBounded(events, events_bytes_max)) {
      // What an install may be made of needs no escape in JSON.
      const value = Buffer.from(`${head},"install_uuid":"${install_uuid}","events":[${items}${tail}`)
      records.push({ topic, partition, key, value })
    }
  }
  return records
}
