import { rmSync } from 'node:fs'
import { open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import { CliError } from '../errors.ts'

const State = z.object({
  v: z.literal(1),
  /** SHA-256 of the file, the key, the address and the mapping together. */
  fingerprint: z.string(),
  /** All lines up to this one are accepted, or in the first `rejected_bytes` of the rejected file. */
  line: z.number().int(),
  accepted: z.number().int(),
  rejected: z.number().int(),
  rejected_reasons: z.record(z.string(), z.number().int()).default({}),
  skipped_reasons: z.record(z.string(), z.number().int()).default({}),
  duplicates_possible: z.number().int(),
  rejected_bytes: z.number().int(),
  complete: z.boolean(),
})

/** The progress of a backfill, stored in `<file>.backfill.json` beside the file. */
export type BackfillState = z.infer<typeof State>

const statePath = (source: string): string => `${source}.backfill.json`

/** The state before the first line. */
export const freshState = (fingerprint: string): BackfillState => ({
  v: 1,
  fingerprint,
  line: 0,
  accepted: 0,
  rejected: 0,
  rejected_reasons: Object.create(null),
  skipped_reasons: Object.create(null),
  duplicates_possible: 0,
  rejected_bytes: 0,
  complete: false,
})

/** Reads the saved state, null without one. Throws CliError `backfill_changed` when content or options changed. */
export async function readState(source: string, fingerprint: string): Promise<BackfillState | null> {
  const text = await readFile(statePath(source), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (text === null) return null
  const state = State.safeParse(parse(text))
  if (state.success && state.data.fingerprint === fingerprint) return state.data
  throw new CliError(
    'backfill_changed',
    `${statePath(source)} belongs to other content, or to another key, address or mapping. Start again without --resume.`,
  )
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Saves the state, durable when resolved. A crash leaves the old state or the new one, never a part. */
export async function writeState(source: string, state: BackfillState): Promise<void> {
  const path = statePath(source)
  const file = await open(`${path}.new`, 'w')
  try {
    await file.writeFile(`${JSON.stringify(state)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
  const folder = await open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/**
 * Locks the file against a second run, and returns the unlock function. The operating system holds the lock (SQLite's
 * exclusive file lock), so it ends with the process. Throws CliError `backfill_running`.
 */
export function lockFile(source: string): () => void {
  const path = `${source}.backfill.lock`
  const database = new DatabaseSync(path)
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch {
    database.close()
    throw new CliError('backfill_running', `Another process is sending ${source}. Wait until it ends, or stop it.`)
  }
  return () => {
    rmSync(path, { force: true })
    database.close()
  }
}
