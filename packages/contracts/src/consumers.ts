import { type Topic, topics } from './topics.ts'

/** Who reads which topic; the name is also the consumer group. */
export interface ConsumerGroup {
  /** Name of the consumer and of its group. */
  name: string
  topic: Topic
  /**
   * Present: the topic may be handed over to one with more partitions; this group then moves the records behind the marker there.
   * Not null: the group on the topic before, at whose markers this one begins (docs/operations.md "More partitions").
   */
  after?: ConsumerGroup | null
  /**
   * The consumer drops what was erased: each batch pins the tombstones that it knows, and an erasure waits for batches that are
   * older. `by` says what the partition of a record follows from.
   */
  pins_tombstones?: { by: 'install' | 'app' | 'click' }
}

/**
 * The one list of consumer groups, in the order of the flow: what one publishes is read by a later one. `tributary status`
 * shows the lag of each.
 */
export const consumers = {
  eventWriter: { name: 'event-writer', topic: topics.eventsAccepted, after: null, pins_tombstones: { by: 'install' } },
  installFinder: { name: 'install-finder', topic: topics.eventsAccepted, pins_tombstones: { by: 'install' } },
  clickWriter: { name: 'click-writer', topic: topics.clicksRecorded, pins_tombstones: { by: 'click' } },
  installAttributor: { name: 'install-attributor', topic: topics.installsFound, pins_tombstones: { by: 'app' } },
  installWriter: { name: 'install-writer', topic: topics.installsAttributed, pins_tombstones: { by: 'install' } },
  verdictForwarder: {
    name: 'verdict-forwarder',
    topic: topics.installsAttributed,
    pins_tombstones: { by: 'install' },
  },
  eventForwarder: { name: 'event-forwarder', topic: topics.eventsAccepted, pins_tombstones: { by: 'install' } },
  receiptValidator: { name: 'receipt-validator', topic: topics.eventsAccepted, pins_tombstones: { by: 'install' } },
  notificationJoiner: { name: 'notification-joiner', topic: topics.storesNotified },
  postbackWriter: { name: 'postback-writer', topic: topics.postbacksReceived },
  eraser: { name: 'eraser', topic: topics.erasuresRequested },
} as const satisfies Record<string, ConsumerGroup>

/** The topics that a consumer reads, each once: those that have dead letters. */
export const consumedTopics: readonly Topic[] = [...new Set(Object.values(consumers).map(({ topic }) => topic))]
