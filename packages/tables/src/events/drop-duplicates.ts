import { day_ms } from '@tributary/contracts/limits'
import { duplicateDays } from '@tributary/domain/event-key'
import type { EventKeyLookup } from './event-keys.ts'

/** Decides whether a row is a duplicate. */
export interface RowKey {
  app_id: string
  key_day: string
  event_key: string
}

/** A key that counts, and the log position that wrote it. */
export interface KnownKey extends RowKey {
  topic: string
  partition: number
  offset: number
}

const dayNumber = (day: string): number => Date.parse(day) / day_ms

/** Every key, with the days on which an event with it makes a row a duplicate. */
export function keysToLookUp(rows: readonly RowKey[]): EventKeyLookup[] {
  const daysOf = memo(duplicateDays)
  return rows.map(({ app_id, key_day, event_key }) => ({ app_id, event_key, key_days: daysOf(key_day) }))
}

/**
 * The rows that count, in their order. Of rows with the same key on the same or neighbouring days the first one counts.
 * A row is compared only with rows that count
 * (docs/decisions/writing.md#repeated-batches-are-completed-from-the-tables). `known` is what ClickHouse holds. It
 * leaves out keys that an earlier try of this batch may have written: `repeated` is the range of the batch, null at the
 * first try. So the batch has the same rows on every try, and can be completed.
 */
export function dropDuplicates<Row extends RowKey>(
  rows: readonly Row[],
  known: readonly KnownKey[],
  repeated: { topic: string; partition: number; from: number; to: number } | null,
): Row[] {
  const counted = memo(() => new Map<string, number[]>())
  const numberOf = memo(dayNumber)
  for (const { app_id, event_key, key_day, topic, partition, offset } of known) {
    const isOfTopic = topic === repeated?.topic && partition === repeated.partition
    const own = isOfTopic && offset >= repeated.from && offset <= repeated.to
    if (!own) add(counted(app_id), event_key, numberOf(key_day))
  }
  return rows.filter(({ app_id, event_key, key_day }) => {
    const keys = counted(app_id)
    const day = numberOf(key_day)
    if (keys.get(event_key)?.some((other) => Math.abs(other - day) <= 1)) return false
    add(keys, event_key, day)
    return true
  })
}

/**
 * A list is made with its first entry. Most lists have no other, and an empty list takes room for many with its first
 * entry.
 */
function add(keys: Map<string, number[]>, event_key: string, day: number): void {
  const days = keys.get(event_key)
  if (days === undefined) keys.set(event_key, [day])
  else days.push(day)
}

/** Dates and apps repeat in a batch; parsing a date costs more than everything else here. */
function memo<Result>(compute: (text: string) => Result): (text: string) => Result {
  const known = new Map<string, Result>()
  return (text) => {
    const result = known.get(text) ?? compute(text)
    known.set(text, result)
    return result
  }
}
