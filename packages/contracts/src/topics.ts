import { day_ms } from './limits.ts'

/** A topic of the event log. `<plural>.<participle>.v<N>`; its dead letters are in `<name>.dead`. */
export interface Topic {
  name: string
  /** Fixed for the life of a topic version: another number needs `.v<N+1>`, since keys get other partitions. */
  partitions: number
  retention_ms: number
}

const days = (n: number) => n * day_ms

/** The same for all topics that hold data of installs: an install then has the same partition number in each. */
const install_partitions = 12

/** The one list of topics; the broker adapters create exactly these. */
export const topics = {
  /** Envelopes (see envelope.ts), partitioned by hash(app_id + install_uuid). */
  eventsAccepted: { name: 'events.accepted.v1', partitions: install_partitions, retention_ms: days(7) },
  /** Erasure requests (see erasure.ts), partitioned as events. They are few and small, and are kept long so that none is lost. */
  erasuresRequested: { name: 'erasures.requested.v1', partitions: install_partitions, retention_ms: days(366) },
  /** Clicks on tracking links and hits of honeypots (see attribution/click.ts), partitioned by hash(app_id + click_id). */
  clicksRecorded: { name: 'clicks.recorded.v1', partitions: install_partitions, retention_ms: days(7) },
  /** Install events, aliases and ticks (see attribution/found.ts), partitioned by hash(app_id): one consumer owns an app. */
  installsFound: { name: 'installs.found.v1', partitions: install_partitions, retention_ms: days(7) },
  /** Decisions (see attribution/decision.ts), partitioned as events. */
  installsAttributed: { name: 'installs.attributed.v1', partitions: install_partitions, retention_ms: days(7) },
  /** Postbacks of Apple as they came (see postback/received.ts), partitioned by the hash of the id that they claim. */
  postbacksReceived: { name: 'postbacks.received.v1', partitions: install_partitions, retention_ms: days(7) },
  /** Notifications of stores (see receipt/store-notified.ts), partitioned by hash(app_id + id of the first transaction). */
  storesNotified: { name: 'stores.notified.v1', partitions: install_partitions, retention_ms: days(7) },
} as const satisfies Record<string, Topic>

/** Where a consumer puts, unchanged, a record that it can never handle, with headers that say why. */
export const deadLetterTopic = (topic: Topic): Topic => ({
  name: `${topic.name}.dead`,
  partitions: topic.partitions,
  retention_ms: days(30),
})

/** Reasons that the kit and the event-writer give a dead letter; other consumers may add reasons. */
export const deadLetterReasons = ['row_refused', 'too_large', 'undecodable'] as const
