import type { Broker, LogRecord, OutgoingRecord } from '@tributary/broker/broker'
import type { ConsumerGroup } from '@tributary/contracts/consumers'
import { limits } from '@tributary/contracts/limits'
import { type Attributes, endWith, inSpan, type OpenSpan, type Traces } from './traces.ts'

/** Header of a record of a recorded trace (docs/consumers.md#reading-the-topics-from-other-languages). Nothing depends on it. */
const header = 'traceparent'

/** The log, with a span for each publish of a recorded trace, and its name in the records; without traces the log as it is. */
export function traceBroker<Log extends Broker>(broker: Log, traces: Traces | undefined): Log {
  if (traces === undefined) return broker
  return {
    ...broker,
    publish(records) {
      // Most requests are not recorded: they pay for this line alone.
      if (records.length === 0 || traces.active() === undefined) return broker.publish(records)
      const { topic } = records[0]!
      const attributes = { 'messaging.destination.name': topic, 'messaging.batch.message_count': records.length }
      return inSpan(
        traces,
        () => ({ name: `send ${topic}`, kind: 'producer', attributes }),
        (span) => broker.publish(span === undefined ? records : records.map(namedBy(span.traceparent))),
      )
    },
  }
}

/** A record that comes again, such as a dead letter, stays a part of its first trace. */
const namedBy =
  (traceparent: string) =>
  (record: OutgoingRecord): OutgoingRecord =>
    record.headers?.[header] === undefined
      ? { ...record, headers: { ...record.headers, [header]: traceparent } }
      : record

interface TracedBatch {
  from: number
  to: number
  records: readonly { record: LogRecord }[]
}

/**
 * Handles a batch in a span if one of its records is of a recorded trace. The span belongs to the trace of the first of them
 * that can be read, and links others, `limits.trace_links_max` at most.
 */
export function traceBatch(
  traces: Traces | undefined,
  { name, topic }: ConsumerGroup,
  partition: number,
  { from, to, records }: TracedBatch,
  handle: () => Promise<void>,
): Promise<void> {
  if (traces === undefined) return handle()
  const senders = sendersOf(records)
  if (senders.length === 0) return handle()
  const attributes: Attributes = {
    'messaging.destination.name': topic.name,
    'messaging.destination.partition.id': String(partition),
    'messaging.consumer.group.name': name,
    'messaging.batch.message_count': records.length,
    'tributary.offset.from': from,
    'tributary.offset.to': to,
  }
  const begin = (parent: string, links: string[]) =>
    traces.begin({ name: `process ${topic.name}`, kind: 'consumer', parent, links })
  const span = senders.reduce<OpenSpan | null>((begun, one, n) => begun ?? begin(one, senders.slice(n + 1)), null)
  return endWith(traces, span, attributes, handle)
}

function sendersOf(records: TracedBatch['records']): string[] {
  const senders = new Set<string>()
  for (const { record } of records) {
    const sender = record.headers[header]
    if (sender !== undefined) senders.add(sender)
    if (senders.size > limits.trace_links_max) break
  }
  return [...senders]
}
