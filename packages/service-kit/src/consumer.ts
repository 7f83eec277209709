import type { LogRecord } from '@tributary/broker/broker'
import type { ConsumerGroup } from '@tributary/contracts/consumers'

/** A record with its decoded value. */
export interface DecodedRecord<T> {
  record: LogRecord
  value: T
}

/** A range of one partition, handled as a whole: after a crash exactly the same records come again. */
export interface Batch<T> {
  topic: string
  partition: number
  /** First and last offset, both inclusive. */
  from: number
  to: number
  /** `<consumer>/<generation>/<topic>/<partition>/<from>-<to>`: same token, same records. */
  token: string
  records: readonly DecodedRecord<T>[]
  /** Puts a record into the dead-letter topic once this batch is done; `reason` is a short constant. */
  dead(record: LogRecord, reason: string): void
  /** Counts records or events that were left out on purpose (`duplicate`, ...). */
  dropped(reason: string, count: number): void
  written(count: number): void
  signal: AbortSignal
}

/** A consumer is a value: the kit owns intent, offsets, retries, dead letters, lag, metrics and stop. */
export interface ConsumerDefinition<T> extends ConsumerGroup {
  /**
   * Throws for a value that can never be handled: that record goes to the dead-letter topic as `undecodable`, the rest
   * goes on. Whatever can be worked out from the record alone belongs here: it is done once, whatever `handle` meets,
   * and only its result stays in memory.
   */
  decode(value: Buffer, record: LogRecord): T
  /** May be called again with the same batch. Rejecting means "not now": the kit tries again for ever, with pauses. */
  handle(batch: Batch<T>): Promise<void>
}

export const defineConsumer = <T>(definition: ConsumerDefinition<T>): ConsumerDefinition<T> => definition
