import type { EventKeyAsk } from '@tributary/clickhouse/event-keys'
import { installKeyDay } from '@tributary/domain/event-key'

/** What tells whether a row is a duplicate. */
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

const day_ms = 24 * 3600 * 1000
const dayNumber = (day: string): number => Date.parse(day) / day_ms
const dayText = (number: number): string => new Date(number * day_ms).toISOString().slice(0, 10)

/** Every key with the days that could make a row a duplicate: its own day and both neighbours. */
export function keysToAsk(rows: readonly RowKey[]): EventKeyAsk[] {
  const neighbours = memo((day) => (day === installKeyDay ? [day] : [-1, 0, 1].map((n) => dayText(dayNumber(day) + n))))
  return rows.map(({ app_id, key_day, event_key }) => ({ app_id, event_key, key_days: neighbours(key_day) }))
}

/**
 * The rows that count, in their order: of rows with the same key on the same or neighbouring days the first one does,
 * compared with those that count only (decisions.md "Idempotency"). `known` is what ClickHouse holds. Keys that came
 * from this very range are left out of it: after a crash the rows that already landed must be in the block again,
 * because a retry with the same token must carry the same rows, or the views never get theirs.
 */
export function dropDuplicates<Row extends RowKey>(
  rows: readonly Row[],
  known: readonly KnownKey[],
  range: { topic: string; partition: number; from: number; to: number },
): Row[] {
  const counted = new Map<string, number[]>()
  const numberOf = memo(dayNumber)
  const daysOf = (key: string) => {
    const days = counted.get(key) ?? []
    if (days.length === 0) counted.set(key, days)
    return days
  }
  for (const found of known) {
    const samePartition = found.topic === range.topic && found.partition === range.partition
    const own = samePartition && found.offset >= range.from && found.offset <= range.to
    if (!own) daysOf(found.app_id + found.event_key).push(numberOf(found.key_day))
  }
  return rows.filter(({ app_id, event_key, key_day }) => {
    const days = daysOf(app_id + event_key)
    const day = numberOf(key_day)
    if (days.some((other) => Math.abs(other - day) <= 1)) return false
    days.push(day)
    return true
  })
}

/** Dates repeat in a batch, and parsing one costs more than all else here. */
function memo<Result>(compute: (text: string) => Result): (text: string) => Result {
  const known = new Map<string, Result>()
  return (text) => {
    const result = known.get(text) ?? compute(text)
    known.set(text, result)
    return result
  }
}
