import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'

/** A file as it is served: its bytes, also compressed, and a name for exactly these bytes. */
export interface Asset {
  type: string
  bytes: Buffer
  /** Made at the first request: most processes never show their documentation. */
  gzipped(): Buffer
  hash: string
}

/** Reads a file that never changes while the process lives. */
export const readAsset = async (file: string, type: string): Promise<Asset> => toAsset(await readFile(file), type)

export function toAsset(bytes: Buffer, type: string): Asset {
  let small: Buffer | undefined
  return {
    type,
    bytes,
    gzipped: () => {
      small ??= gzipSync(bytes)
      return small
    },
    hash: createHash('sha256').update(bytes).digest('hex').slice(0, 16),
  }
}
