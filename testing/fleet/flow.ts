import { setTimeout as pause } from 'node:timers/promises'
import type { Broker, OutgoingRecord } from '@tributary/broker/broker'
import { installPartition } from '@tributary/broker/partition'
import type { Envelope } from '@tributary/contracts/envelope'
import { topics } from '@tributary/contracts/topics'
import type { SentEvents } from '@tributary/testing/verify-events'
import { type Device, type EventBatch, makeDevice, sentOf } from './events.ts'

/** Publishes records to the log as gateways do, for fleets with writers only. */
export interface Flow {
  /** Events that are durable in the log. */
  acknowledged: SentEvents[]
  /** Stops. Resolves once the log has the records of open publishes. */
  stop(): Promise<void>
}

const batch_events = 20
const every_ms = 80
/** Records per round, so that all partitions soon have some. */
const round_records = 4
/** One of this many records is published a second time, in a later round. */
const again_every = 7
const app_id = 'app_flow'

/**
 * Publishes up to 1000 events a second until stopped: few, so that the engines have time for what a test does to writers.
 * Repeats a failed publish, as clients of a gateway do.
 */
export function startFlow(broker: Broker): Flow {
  const acknowledged: SentEvents[] = []
  const { name: topic, partitions } = topics.eventsAccepted
  let stopping = false
  let devices: Device[] = []
  let count = 0
  let again: OutgoingRecord[] = []

  const publish = async (batches: readonly EventBatch[]) => {
    const records = batches.map((batch) => toRecord(batch, topic, partitions))
    const all = [...records, ...again]
    again = records.filter((_, n) => (count + n) % again_every === 0)
    count += records.length
    while (
      !(await broker.publish(all).then(
        () => true,
        () => false,
      ))
    )
      await pause(every_ms)
    acknowledged.push(...batches.map((batch) => sentOf(app_id, batch)))
  }
  const running = (async () => {
    while (!stopping) {
      if (count % 100 === 0) devices = Array.from({ length: round_records }, () => makeDevice())
      await publish(devices.map((device) => device.nextBatch(batch_events)))
      await pause(every_ms)
    }
  })()
  return {
    acknowledged,
    async stop() {
      stopping = true
      await running
    },
  }
}

function toRecord({ install_uuid, events }: EventBatch, topic: string, partitions: number): OutgoingRecord {
  const envelope: Envelope = {
    ...{ v: 1, company_id: 'co_flow', app_id, platform: 'android', source: 'sdk', install_uuid },
    ...{ received_at_ms: Date.now(), ip: '192.0.2.1', user_agent: '', sdk: '', sdk_platform: '', audit_key: 'flow' },
    events,
  }
  const partition = installPartition(app_id, install_uuid, partitions)
  return { topic, partition, key: `${app_id}/${install_uuid}`, value: Buffer.from(JSON.stringify(envelope)) }
}
