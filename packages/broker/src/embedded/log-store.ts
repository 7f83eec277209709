import { CodedError } from '@tributary/contracts/errors'
import { type Database, open } from 'lmdb'
import type { Committed, OutgoingRecord, PackedValue } from '../broker.ts'
import { createUnpack, recordBytes } from './block.ts'
import { type CommitQueue, createCommitQueue } from './commit-queue.ts'

export interface StoredBlock {
  offset: number
  block: Buffer
}

/** A partition as its store sees it. */
export interface AppendableLog {
  topic: string
  partition: number
  /** Blocks that hold these records at the end of the log; they count once `advance` is called with `end`. */
  encode(records: readonly OutgoingRecord[], timestamp_ms: number): { stored: StoredBlock[]; end: PartitionEnd }
  advance(end: PartitionEnd): void
}

/** The changes of one commit, applied together or not at all. */
export interface Staging {
  append(log: AppendableLog, record: OutgoingRecord): void
  /** A put or remove on one of the databases of the store. */
  change(apply: () => unknown): void
}

/** The databases of the log, all in one lmdb environment, and the one way to write to them. */
export interface LogStore {
  /** Key: topic, partition, offset of the first record. */
  blocks: Database<Buffer, [string, number, number]>
  /** Key: group, topic, partition. */
  offsets: Database<Committed, [string, string, number]>
  topics: Database<{ partitions: number; retention_ms: number }, string>
  /** Where a partition ends when retention has deleted its last block. Key: topic, partition. */
  ends: Database<PartitionEnd, [string, number]>
  /** Rejects when the store takes no writes. */
  probe(): Promise<void>
  queue: CommitQueue<Staging>
  unpack(packed: PackedValue): Buffer
  close(): Promise<void>
}

export interface PartitionEnd {
  offset: number
  bytes: number
}

/** Maximum of the records in one commit; the rest waits for the next one. Bounds memory and the time of a commit. */
const commit_bytes_max = 16 * 1024 * 1024

/** After a failed commit a small write may still find a freed page: only one of this size shows that records fit again. */
const probe_bytes_after_failure = 1024 * 1024

/**
 * Opens or creates the log in `dir`. One process at a time: the caller holds the lock of the data folder. Without space
 * no record is appended.
 */
export function openLogStore(
  dir: string,
  now: () => number,
  onCommit: (records: number, seconds: number) => void,
  hasSpace: () => boolean = () => true,
): LogStore {
  // A resolved commit is on the disk only without overlapping syncs, and `publish` promises that.
  // Event turn batching wraps each batch in one of its own, whose failure nobody could catch.
  const env = open({ path: dir, overlappingSync: false, eventTurnBatching: false, maxDbs: 8 })
  const blocks = env.openDB<Buffer, [string, number, number]>({ name: 'blocks', encoding: 'binary' })

  const probes = env.openDB<Buffer, string>({ name: 'probes', encoding: 'binary' })
  let failed = false

  function begin() {
    const appended = new Map<AppendableLog, OutgoingRecord[]>()
    const changes: (() => unknown)[] = []
    let bytes_staged = 0
    let records_staged = 0
    const staging: Staging = {
      append(log, record) {
        // Offsets are still committed: they replace what is there, and the consumers need them to get ahead.
        if (!hasSpace()) throw new CodedError('unavailable', { message: 'The disk of the event log is full.' })
        const staged = appended.get(log)
        if (staged === undefined) appended.set(log, [record])
        else staged.push(record)
        bytes_staged += recordBytes(record)
        records_staged += 1
      },
      change: (apply) => changes.push(apply),
    }
    async function run() {
      const started = performance.now()
      const encoded = [...appended].map(([log, staged]) => ({ log, ...log.encode(staged, now()) }))
      if (encoded.length === 0 && changes.length === 0) return
      await commitBatch(blocks, () => {
        for (const { log, stored } of encoded) {
          for (const { offset, block } of stored) blocks.put([log.topic, log.partition, offset], block)
        }
        for (const apply of changes) apply()
      }).catch((error) => {
        failed = true
        throw error
      })
      if (encoded.length > 0) failed = false
      for (const { log, end, stored } of encoded) {
        log.advance(end)
        for (const { block } of stored) release(block)
      }
      appended.clear()
      onCommit(records_staged, (performance.now() - started) / 1000)
    }
    return { staging, hasRoom: () => bytes_staged < commit_bytes_max, run }
  }

  const queue = createCommitQueue(begin)

  async function probe() {
    const value = Buffer.alloc(failed ? probe_bytes_after_failure : 1)
    await queue.submit({ stage: (staging) => staging.change(() => probes.put('probe', value)) })
    if (value.length === probe_bytes_after_failure) failed = false
  }

  return {
    blocks,
    offsets: env.openDB({ name: 'offsets' }),
    topics: env.openDB({ name: 'topics' }),
    ends: env.openDB({ name: 'ends' }),
    probe,
    queue,
    unpack: createUnpack(),
    close: () => env.close(),
  }
}

/**
 * Gives the memory of a stored block back. lmdb chains its writes, a chain that a collection of young objects never takes
 * once a part of it is old: each block would stay until the next full collection, and bring it nearer.
 */
const release = (block: Buffer): void => void (block.buffer as ArrayBuffer).transfer(0)

/** One lmdb transaction; rejects with the cause that lmdb hides in a promise of its own. */
async function commitBatch(database: Database<Buffer, [string, number, number]>, apply: () => void): Promise<void> {
  try {
    await database.batch(apply)
  } catch (error) {
    const { commitError } = error as { commitError?: Promise<never> }
    // Left alone, that promise would end the process as an unhandled rejection.
    const cause = await commitError?.catch((inner: unknown) => inner)
    throw new Error('the event log could not be written', { cause: cause ?? error })
  }
}
