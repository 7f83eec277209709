import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { StartRefused } from '../settings/start-refused.ts'

export interface DataDirLock {
  release(): void
}

/**
 * Takes the data folder for this process, or throws `StartRefused`. The operating system holds the lock (SQLite's
 * exclusive file lock), so that it ends with the process however that dies: no stale file can keep a start away.
 */
export function lockDataDir(data_dir: string): DataDirLock {
  mkdirSync(data_dir, { recursive: true, mode: 0o700 })
  const path = join(data_dir, 'lock.sqlite')
  closeSync(openSync(path, 'a', 0o600)) // SQLite would make it readable for all
  const database = new DatabaseSync(path)
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch {
    database.close()
    throw new StartRefused(
      `The data folder ${data_dir} is in use by another Tributary process.\n` +
        'Stop that one first, or give this one a folder of its own with TRIBUTARY_DATA_DIR.',
    )
  }
  return { release: () => database.close() }
}
