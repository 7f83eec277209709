import type { EachBatchPayload } from 'kafkajs'
import type { LogRecord } from '../../broker.ts'

type Message = EachBatchPayload['batch']['messages'][number]

/** A record as the interface knows it, of a message as kafkajs fetched it. */
export const toRecord = ({ batch }: EachBatchPayload, message: Message): LogRecord => ({
  topic: batch.topic,
  partition: batch.partition,
  offset: Number(message.offset),
  timestamp_ms: Number(message.timestamp),
  key: message.key?.toString() ?? null,
  value: message.value ?? Buffer.alloc(0),
  headers: headersOf(message.headers),
})

function headersOf(headers: Message['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name, String(value ?? '')]))
}
