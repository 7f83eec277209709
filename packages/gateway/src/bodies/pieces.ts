/** The number of small pieces that are kept; further ones are copied into blocks. */
const pieces_as_they_are = 8
/** A piece of this size is kept as it is. */
const large_bytes_min = 4096
const block_bytes = 16 * 1024

/** A body that arrives in pieces. */
export interface Pieces {
  add(piece: Buffer): void
  /** A copy of the whole body, even of a single piece, because bytes from the socket are part of a larger buffer. */
  join(): Buffer
  /** How many Buffers hold it. */
  count(): number
}

/**
 * Keeps a body with few Buffers. A client chooses its pieces, and each Buffer takes 200 bytes besides its content: 1
 * MiB in chunks of a byte would take 250 MiB.
 */
export function createPieces(): Pieces {
  const kept: Buffer[] = []
  let block: Buffer | null = null
  let used = 0

  function closeBlock() {
    if (block !== null)
      kept.push(2 * used < block.length ? Buffer.from(block.subarray(0, used)) : block.subarray(0, used))
    block = null
    used = 0
  }
  return {
    add(piece) {
      if (piece.length >= large_bytes_min || kept.length < pieces_as_they_are) {
        closeBlock()
        kept.push(piece)
        return
      }
      if (block !== null && used + piece.length > block.length) closeBlock()
      block ??= Buffer.allocUnsafeSlow(block_bytes)
      used += piece.copy(block, used)
    },
    join() {
      closeBlock()
      return Buffer.concat(kept)
    },
    count: () => kept.length + (block === null ? 0 : 1),
  }
}
