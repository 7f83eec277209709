import type { LogRecord, OutgoingRecord } from '@tributary/broker/broker'
import { limits } from '@tributary/contracts/limits'
import { deadLetterTopic, type Topic } from '@tributary/contracts/topics'

/** The log still takes a letter of this size, with our headers. */
export const isTakenByLog = ({ key, value, headers }: LogRecord): boolean =>
  value.length + Buffer.byteLength(key ?? '') + Buffer.byteLength(JSON.stringify(headers)) <=
  limits.log_record_bytes_max

/**
 * The record as it was, with headers that say why it could not be handled. A record that comes back from the
 * dead-letter topic and dies again keeps when it was first seen, and its attempts go up. A record of another producer
 * may be larger than what we can publish. Its letter then says so, and says where the record is.
 */
export function deadLetter(topic: Topic, consumer: string, record: LogRecord, reason: string): OutgoingRecord {
  const whole = isTakenByLog(record)
  return {
    topic: deadLetterTopic(topic).name,
    partition: record.partition,
    key: whole ? record.key : null,
    value: whole ? record.value : Buffer.alloc(0),
    headers: {
      ...(whole ? record.headers : { too_large_bytes: String(record.value.length) }),
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

/**
 * The record of a dead letter, to be published to its topic again: key, value and partition as they were. `attempts`
 * and `first_seen_ms` stay, so that a second death adds to them; the headers about this death are removed.
 */
export function recordOfLetter(topic: Topic, letter: LogRecord): OutgoingRecord {
  const { reason, consumer, source_topic, source_partition, source_offset, ...headers } = letter.headers
  const { partition, key, value } = letter
  return { topic: topic.name, partition, key, value, headers }
}
