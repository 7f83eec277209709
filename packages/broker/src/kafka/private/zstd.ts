import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'

/**
 * What one fetch may bring of one partition, inflated; one record batch more, as it ends with the batch that passes it.
 * All partitions of an answer are in memory before any is handled, so this is half a chunk and not more: what a fetch
 * usually brings.
 */
const fetch_inflated_bytes_max = 8 * 1024 * 1024
/** Memory that compression allocates at a time, at most. */
const chunk_bytes_max = 128 * 1024
/** A frame is larger than its content by less than this, if the content does not shrink. */
const frame_bytes_max = 1024
/** What stands between the compressed parts of two record batches of one partition: the head of the second. */
const batch_head_bytes = 61

/** A run of record batches of one partition in one answer: where the last one ended, and what all came to. */
interface Run {
  end: number
  inflated_bytes: number
}

/**
 * The zstd codec of kafkajs. Synchronous on purpose: a send is at most a megabyte, about 2 ms, and the thread pool of
 * Node costs 40 % more CPU a record for publishing and twice as much for reading (measured with records of 2.4 kB); no
 * compression costs as much. Level 1 takes half the CPU of the default level and makes event JSON no larger.
 *
 * Kafka bounds a fetch in compressed bytes, and kafkajs inflates all of it at once: a backlog of much repeated text would
 * be a gigabyte. The codec therefore ends a partition's part of an answer early, with the error by which kafkajs knows a batch
 * that was cut off in transit: it takes what came before, and fetches the rest again.
 */
export function createZstd() {
  /** The key is the memory of an answer, so that answers that are read at the same time don't mix. */
  const runs = new WeakMap<ArrayBufferLike, Run>()

  return {
    async compress(encoder: { buffer: Buffer }): Promise<Buffer> {
      const params = { [constants.ZSTD_c_compressionLevel]: 1 }
      const content = encoder.buffer
      // Most batches are full of gzip and don't shrink. One chunk takes less CPU than many of 16 kB, Node's default.
      const chunkSize = Math.min(content.length + frame_bytes_max, chunk_bytes_max)
      const { buffer, engine } = zstdCompressSync(content, { params, chunkSize, info: true }) as unknown as Compressed
      engine._outBuffer = null
      return buffer
    },
    async decompress(part: Buffer): Promise<Buffer> {
      const last = runs.get(part.buffer)
      // The first batch of a partition is always taken, or a large one would stop its partition for ever.
      const before = last?.end === part.byteOffset - batch_head_bytes ? last.inflated_bytes : 0
      if (before >= fetch_inflated_bytes_max) throw new CutOffError('enough of this partition')
      const inflated = zstdDecompressSync(part)
      runs.set(part.buffer, {
        end: part.byteOffset + part.length,
        inflated_bytes: before + inflated.length,
      })
      return inflated
    },
  }
}

/** kafkajs goes by the name. */
class CutOffError extends Error {
  override name = 'KafkaJSPartialMessageError'
}

/**
 * What zlib gives with `info: true`, which its types leave out. A collection of young objects never takes an engine, and
 * what it holds on to would stay in memory until the next full collection.
 */
interface Compressed {
  buffer: Buffer
  engine: { _outBuffer: Buffer | null }
}
