import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Broker, WholeRecord } from '@tributary/broker/broker'
import { consumers } from '@tributary/contracts/consumers'
import { topics } from '@tributary/contracts/topics'
import { findFact } from '@tributary/domain/attribute/install-facts'
import { isErased } from '@tributary/domain/erasure/is-erased'
import type { TombstoneStore, Tombstones } from '@tributary/domain/erasure/tombstones'
import { type Batch, type ConsumerDefinition, defineConsumer } from '@tributary/service-kit/consumer/define-consumer'
import { foundRecord } from '@tributary/tables/attribution/records'
import type { AppWithSecrets, AttributionApps } from '@tributary/tenancy/attribution/attribution-apps'
import { isSecretUnreadable } from '@tributary/tenancy/secrets/master-keys'
import { type FactEvent, mayHoldFacts, type ReadRecord, readRecord } from './read-record.ts'

export interface InstallFinderDeps {
  broker: Pick<Broker, 'publish' | 'partitionCount'>
  apps: Pick<AttributionApps<AppWithSecrets>, 'find'>
  /** Tombstones; without them nothing counts as erased. */
  erased?: TombstoneStore
}

/** Facts of a batch: what they come to is published at once, some 600 bytes each. */
const batch_facts_max = 2000
const batch_bytes_max = 8 * 1024 * 1024
/** It inserts nothing: small batches cost three commits of the log. */
const linger_ms = 200
/** How long hashing may block the event loop at a time. */
const slice_ms = 10

/**
 * Publishes a fact for each install event and each alias of the accepted events, to the partition of its app. A fact is
 * named by the place of its event, and says the same whenever it is made: a batch that comes again publishes the same set
 * (docs/decisions/attribution.md#a-fact-is-named-by-the-position-of-its-event).
 */
export function installFinder({ broker, apps, erased }: InstallFinderDeps): ConsumerDefinition<ReadRecord> {
  return defineConsumer({
    ...consumers.installFinder,
    ...(erased && { tombstones: erased }),
    appOf: appIdOf,
    needsValue: mayHoldFacts,
    fetch: { wait_ms_max: linger_ms },
    bounds: {
      ...{ rows_max: batch_facts_max, bytes_max: batch_bytes_max },
      measure: ({ events, bytes }) => ({ rows: events.length, bytes }),
    },
    decode: readRecord,
    async handle(batch) {
      const { known, unreadable } = await findApps(apps, batch)
      const { records, dead } = batch
      for (const { record, value } of records) if (unreadable.has(appIdOf(value))) dead(record, 'secrets_unreadable')
      const partitions = await broker.partitionCount(topics.installsFound.name)
      const readable = records.filter(({ value }) => !unreadable.has(appIdOf(value)))
      const found = await findFacts({ ...batch, records: readable }, known, partitions)
      if (found.length > 0) await broker.publish(found)
      batch.written(found.length)
    },
  })
}

/** The app of a record; null when it holds no event that attribution reads. */
const appIdOf = ({ events }: ReadRecord): string | null => events[0]?.head.app_id ?? null

interface FoundApps {
  /** Null for an app that is not there any more. */
  known: Map<string, AppWithSecrets | null>
  /** Apps whose secrets no master key decrypts: their records hold up no others. */
  unreadable: Set<string | null>
}

/** The apps of a batch by their ids, each looked up once. */
async function findApps(apps: InstallFinderDeps['apps'], { records }: Batch<ReadRecord>): Promise<FoundApps> {
  const found: FoundApps = { known: new Map(), unreadable: new Set() }
  const app_ids = new Set(records.flatMap(({ value }) => appIdOf(value) ?? []))
  const find = async (app_id: string) => {
    try {
      found.known.set(app_id, await apps.find(app_id))
    } catch (err) {
      if (!isSecretUnreadable(err)) throw err
      found.unreadable.add(app_id)
    }
  }
  await Promise.all([...app_ids].map(find))
  return found
}

/** The facts of a batch as records, in the order of their events. Counts what is left out. */
async function findFacts(
  batch: Batch<ReadRecord>,
  apps: ReadonlyMap<string, AppWithSecrets | null>,
  partitions: number,
): Promise<WholeRecord[]> {
  const found: WholeRecord[] = []
  const dropped = { undecodable: 0, erased: 0, unknown_app: 0, no_fact: 0 }
  let until = performance.now() + slice_ms
  for (const { record, value } of batch.records) {
    if (value.undecodable) dropped.undecodable += 1
    for (const { head, event, index } of value.events) {
      if (isErasedEvent(head, event, batch.tombstones)) {
        dropped.erased += 1
        continue
      }
      const app = apps.get(head.app_id) ?? null
      const place = { topic: batch.source, partition: batch.partition, offset: record.offset, index }
      const fact = app && findFact(head, event, place, app)
      if (fact !== null) found.push(foundRecord(fact, partitions))
      else if (app === null) dropped.unknown_app += 1
      else dropped.no_fact += 1
      if (performance.now() < until) continue
      await nextTurn()
      until = performance.now() + slice_ms
    }
  }
  for (const [reason, count] of Object.entries(dropped)) if (count > 0) batch.dropped(reason, count)
  return found
}

/** Whether an event was erased. */
function isErasedEvent(
  { app_id, install_uuid, received_at_ms, sent_at_ms }: FactEvent['head'],
  { event_ts_ms }: FactEvent['event'],
  tombstones: Tombstones,
): boolean {
  return isErased({ received_at_ms, sent_at_ms, event_ts_ms }, tombstones.markOf(app_id, install_uuid))
}
