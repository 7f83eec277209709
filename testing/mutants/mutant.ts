import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A fault that a rule forbids, and the tests that must notice it. */
export interface Mutant {
  /** Document and heading of the rule, such as `docs/rules.md#money-once`. */
  rule: string
  /** The part of the rule that the fault breaks. Names the mutant. */
  promise: string
  /** Path from the root. */
  file: string
  /** Text of the file that occurs in it once. */
  from: string
  /** The fault: stands in place of `from`. */
  to: string
  /** Paths of test files from the root; the quickest that notice the fault. */
  tests: readonly string[]
  /** Part of the names of the tests that run, where a whole file takes long. */
  only?: string
}

export const root = join(import.meta.dirname, '..', '..')

/** The text of a file with the fault in it. Throws when `from` does not occur once. */
export function mutate({ file, from, to }: Pick<Mutant, 'file' | 'from' | 'to'>, text: string): string {
  const times = text.split(from).length - 1
  if (times !== 1) throw new Error(`${file} has ${times} times what it must have once: ${from}`)
  return text.replace(from, () => to)
}

/** Why a mutant cannot be made; null when it can. */
export function findListFault(mutant: Mutant): string | null {
  try {
    const text = readFileSync(join(root, mutant.file), 'utf8')
    return mutate(mutant, text) === text ? `${mutant.file} stays as it is` : null
  } catch (error) {
    return (error as Error).message
  }
}
