import { open, rm } from 'node:fs/promises'
import type { RejectedLine } from './deliver-batch.ts'

/** `<file>.rejected.jsonl` beside the file that is sent: one JSON object a rejected line, no file without any. */
export interface RejectedFile {
  path: string
  /** Durable when resolved; resolves with the size of the file in bytes. */
  append(rejected: readonly RejectedLine[]): Promise<number>
  close(): Promise<void>
}

/** Opens it with its first `keep_bytes`: what a killed run wrote behind its last saved state is written again. */
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
