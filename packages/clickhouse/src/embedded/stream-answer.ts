import { randomUUID } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { textLiteral } from '../literals.ts'

/** Answers on their way, in files that are gone when they are read. */
export interface AnswerFiles {
  /** Has the engine write an answer into a file, and gives back what reads it. */
  stream(write: (target: string) => Promise<void>, format: string): Promise<Readable>
}

/**
 * chdb gives a whole answer at once, or in pieces of which each is a Parquet file of its own. So it writes a file, which
 * loses its name as soon as it is open: nothing is left of it when it is closed, or when the process is killed. Files
 * of a process that was killed while its engine wrote are removed here.
 */
export function answerFiles(data_dir: string): AnswerFiles {
  const dir = join(data_dir, 'tributary-answers')
  rmSync(dir, { recursive: true, force: true })
  return {
    async stream(write, format) {
      mkdirSync(dir, { recursive: true, mode: 0o700 })
      const path = join(dir, randomUUID())
      try {
        await write(`FUNCTION file(${textLiteral(path)}, ${textLiteral(format)})`)
        const file = await open(path)
        return file.createReadStream({ highWaterMark: 256 * 1024 })
      } finally {
        await rm(path, { force: true })
      }
    },
  }
}
