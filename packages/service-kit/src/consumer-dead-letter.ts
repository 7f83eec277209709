import type { LogRecord, OutgoingRecord } from '@tributary/broker/broker'
import { deadLetterTopic, type Topic } from '@tributary/contracts/topics'

/**
 * The record as it was, with headers that say why it could not be handled. A record that comes back from the
 * dead-letter topic and dies again keeps when it was first seen, and its attempts go up.
 */
export function deadLetter(topic: Topic, consumer: string, record: LogRecord, reason: string): OutgoingRecord {
  return {
    topic: deadLetterTopic(topic).name,
    partition: record.partition,
    key: record.key,
    value: record.value,
    headers: {
      ...record.headers,
      reason,
      consumer,
      first_seen_ms: record.headers.first_seen_ms ?? String(record.timestamp_ms),
      attempts: String(Number(record.headers.attempts ?? 0) + 1),
      source_topic: record.topic,
      source_partition: String(record.partition),
      source_offset: String(record.offset),
    },
  }
}
