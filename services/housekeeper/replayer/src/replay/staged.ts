import { DatabaseSync } from 'node:sqlite'
import type { Missing } from './missing-events.ts'

/** Missing events of a day, to be taken in the order in which they were received. */
export interface Staged {
  add(missing: readonly Missing[]): void
  /** All that was added, oldest first and in groups of bounded size, and forgets it. */
  take(): Generator<Missing[]>
  close(): void
}

/** One wait for the log is enough for these. */
const group_chars = 1024 * 1024
/** The rest lies in a file that SQLite removes by itself, also after a kill. */
const cache_kib = 16 * 1024

/** Sorts more than fits into memory: a temporary database, which SQLite keeps in a nameless file. */
export function openStaged(): Staged {
  const database = new DatabaseSync('')
  database.exec(`PRAGMA journal_mode = OFF; PRAGMA cache_size = -${cache_kib};
    CREATE TABLE staged (received_at_ms INTEGER, missing TEXT)`)
  const insert = database.prepare('INSERT INTO staged VALUES (?, ?)')
  const ordered = database.prepare('SELECT missing FROM staged ORDER BY received_at_ms, rowid')
  return {
    add(missing) {
      for (const one of missing) insert.run(one.envelope.received_at_ms, JSON.stringify(one))
    },
    *take() {
      let group: Missing[] = []
      let chars = 0
      for (const { missing } of ordered.iterate()) {
        group.push(JSON.parse(missing as string))
        chars += (missing as string).length
        if (chars < group_chars) continue
        yield group
        group = []
        chars = 0
      }
      if (group.length > 0) yield group
      database.exec('DELETE FROM staged')
    },
    close: () => database.close(),
  }
}
