import type { LogRecord, NeedsValue, OutgoingRecord } from '../broker.ts'
import { firstUnread } from '../unread.ts'
import { type BlockRecord, blockBytes, decodeHeader, decodeRecords, encodeBlock, recordBytes } from './block.ts'
import type { AppendableLog, LogStore, PartitionEnd, StoredBlock } from './log-store.ts'

export interface Fetched {
  records: LogRecord[]
  /** Where the next read goes on. */
  next: PartitionEnd
}

/** A larger block ends and a new one begins, so that a reader never copies much more than it needs. */
const block_bytes_max = 128 * 1024

/** One partition: blocks in lmdb, and in memory where it begins and durably ends. */
export interface PartitionLog extends AppendableLog {
  /** Offset of the first record still there; the end when there is none. */
  earliest(): number
  /** Position behind the last durable record. Readers see nothing beyond it, even where lmdb would. */
  end(): PartitionEnd
  /** The position of an offset, moved into what is there: too old or beyond the end means the earliest. */
  locate(offset: number): PartitionEnd
  /**
   * Records from `offset` on, at least one, together at most `bytes_max` unless one alone is larger; empty at the end.
   * `needsValue` as in `ConsumeOptions`.
   */
  read(offset: number, bytes_max: number, needsValue?: NeedsValue): Fetched
  /** Time of the first record at or after `offset`, null when there is none. */
  timestampAt(offset: number): number | null
  /** Offset of the first record later than a time, the end without one; a clock that was set back has several such places. */
  firstAfter(timestamp_ms: number): number
  /** The first blocks, at most `count_max`, whose records are all older than a time and before the offset `floor`. */
  oldBlocks(older_than_ms: number, floor: number, count_max: number): { offset: number; end: number }[]
  /** Everything before `offset` was deleted. */
  trim(offset: number): void
  /** Resolves at the next append, when `wait_ms` (null: for ever) have passed, or at the signal. */
  changed(wait_ms: number | null, signal: AbortSignal): Promise<void>
}

const no_value = Buffer.alloc(0)

/** Not remembered: a batch would hold all its values inflated (`LogRecord.value`). */
const withLazyValue = (place: Omit<LogRecord, 'value'>, { value }: Pick<BlockRecord, 'value'>): LogRecord => ({
  ...place,
  get value() {
    return value()
  },
})

/** Reads from the store where a partition begins and ends. */
export function openPartitionLog(store: LogStore, topic: string, partition: number): PartitionLog {
  const { blocks } = store
  const waiters = new Set<() => void>()
  let end = findEnd()
  let earliest = seek(0, false)?.offset ?? end.offset

  function get(offset: number): StoredBlock | null {
    const block = blocks.getBinary([topic, partition, offset])
    return block === undefined ? null : { offset, block }
  }

  /** The first block whose key is at or after `offset`, or with `reverse` the last at or before it. */
  function seek(offset: number, reverse: boolean): StoredBlock | null {
    const bound: [string, number, number] = [topic, partition, reverse ? -1 : Number.MAX_SAFE_INTEGER]
    for (const key of blocks.getKeys({ start: [topic, partition, offset], end: bound, reverse, limit: 1 })) {
      return get(key[2])
    }
    return null
  }

  function findEnd(): PartitionEnd {
    const last = seek(Number.MAX_SAFE_INTEGER, true)
    if (last === null) return store.ends.get([topic, partition]) ?? { offset: 0, bytes: 0 }
    const header = decodeHeader(last.block)
    return { offset: last.offset + header.count, bytes: header.bytes_before + blockBytes(last.block) }
  }

  /** The block that holds `offset`; null at the end. */
  function holding(offset: number): StoredBlock | null {
    if (offset >= end.offset) return null
    return get(offset) ?? seek(offset, true)
  }

  function encode(records: readonly OutgoingRecord[], timestamp_ms: number) {
    const stored: StoredBlock[] = []
    let { offset, bytes } = end
    let from = 0
    while (from < records.length) {
      let to = from
      let size = 0
      while (to < records.length) {
        const next = recordBytes(records[to]!)
        if (size > 0 && size + next > block_bytes_max) break
        size += next
        to += 1
      }
      stored.push({ offset, block: encodeBlock(records.slice(from, to), size, timestamp_ms, bytes) })
      offset += to - from
      bytes += size
      from = to
    }
    return { stored, end: { offset, bytes } }
  }

  function locate(from: number): PartitionEnd {
    const offset = firstUnread({ committed: from, earliest, end: end.offset })
    const found = holding(offset)
    if (found === null) return end
    let bytes = decodeHeader(found.block).bytes_before
    let at = found.offset
    for (const record of decodeRecords(found.block, store.unpack)) {
      if (at === offset) break
      bytes += record.bytes
      at += 1
    }
    return { offset, bytes }
  }

  function read(from: number, bytes_max: number, needsValue: NeedsValue = () => true): Fetched {
    const records: LogRecord[] = []
    let taken = 0
    let offset = from
    for (let found = holding(offset); found !== null; found = holding(offset)) {
      const { timestamp_ms, bytes_before } = decodeHeader(found.block)
      let bytes = bytes_before
      offset = found.offset
      for (const record of decodeRecords(found.block, store.unpack)) {
        if (offset >= from) {
          const { key, headers } = record
          const isNeeded = needsValue(headers)
          const size = record.bytes + (isNeeded ? record.value_bytes : 0)
          if (records.length > 0 && taken + size > bytes_max) return { records, next: { offset, bytes } }
          const place = { topic, partition, offset, timestamp_ms, key, headers }
          records.push(isNeeded ? withLazyValue(place, record) : { ...place, value: no_value })
          taken += size
        }
        offset += 1
        bytes += record.bytes
      }
    }
    return { records, next: end }
  }

  function oldBlocks(older_than_ms: number, floor: number, count_max: number): { offset: number; end: number }[] {
    const old: { offset: number; end: number }[] = []
    let offset = earliest
    for (let found = holding(offset); found !== null && old.length < count_max; found = holding(offset)) {
      const { timestamp_ms, count } = decodeHeader(found.block)
      offset = found.offset + count
      if (timestamp_ms >= older_than_ms || offset > floor) break
      old.push({ offset: found.offset, end: offset })
    }
    return old
  }

  function firstAfter(timestamp_ms: number): number {
    let [low, high] = [earliest, end.offset]
    while (low < high) {
      const { offset, block } = holding(Math.floor((low + high) / 2))!
      const header = decodeHeader(block)
      if (header.timestamp_ms > timestamp_ms) high = offset
      else low = offset + header.count
    }
    return low
  }

  function changed(wait_ms: number | null, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve()
      const timer = wait_ms === null ? undefined : setTimeout(done, wait_ms)
      function done() {
        clearTimeout(timer)
        waiters.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      waiters.add(done)
      signal.addEventListener('abort', done)
    })
  }

  return {
    topic,
    partition,
    earliest: () => earliest,
    end: () => end,
    encode,
    advance(to) {
      end = to
      for (const wake of [...waiters]) wake()
    },
    locate,
    read,
    timestampAt(offset) {
      const found = holding(Math.max(offset, earliest))
      return found === null ? null : decodeHeader(found.block).timestamp_ms
    },
    firstAfter,
    oldBlocks,
    trim(offset) {
      earliest = offset
    },
    changed,
  }
}
