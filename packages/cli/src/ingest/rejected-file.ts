import { open, rm } from 'node:fs/promises'
import type { RejectedLine } from './deliver-batch.ts'

/** `<file>.rejected.jsonl` beside the sent file: one JSON object per rejected line. No rejected line, no file. */
export interface RejectedFile {
  path: string
  /** Durable when resolved; resolves with the size of the file in bytes. */
  append(rejected: readonly RejectedLine[]): Promise<number>
  close(): Promise<void>
}

/** Opens the file and keeps its first `keep_bytes`: lines that a killed run wrote after its last saved state come again. */
export async function openRejectedFile(source: string, keep_bytes: number): Promise<RejectedFile> {
  const path = `${source}.rejected.jsonl`
  let size = keep_bytes
  const file = await open(path, keep_bytes === 0 ? 'w' : 'r+')
  await file.truncate(keep_bytes)
  return {
    path,
    async append(rejected) {
      if (rejected.length === 0) return size
      const bytes = Buffer.from(rejected.map((line) => `${JSON.stringify(line)}\n`).join(''))
      await file.write(bytes, 0, bytes.length, size)
      await file.datasync()
      size += bytes.length
      return size
    },
    async close() {
      await file.close()
      if (size === 0) await rm(path, { force: true })
    },
  }
}
