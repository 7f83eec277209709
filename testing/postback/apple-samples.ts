import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Apple's samples are Apple's text, so they are not a part of this repository. */
const folder = process.env.TRIBUTARY_VECTORS ?? join(import.meta.dirname, '../../../shared/vectors')

/** Whether this machine has the samples. One line says so where it has none. */
export function hasAppleSamples(): boolean {
  const is_there = existsSync(join(folder, 'skan-apple-samples.json'))
  if (!is_there) process.stderr.write(`No samples of Apple in ${folder}, their tests are skipped.\n`)
  return is_there
}

/** A file of the samples. */
export const readAppleSample = (file: string): Buffer => readFileSync(join(folder, file))
