import { DatabaseSync } from 'node:sqlite'
import type { Pause } from '@tributary/service-kit/service/pauses'
import type { Missing } from './missing-events.ts'

/** Missing events of a day, to be taken in the order in which they were received. */
export interface Staged {
  add(missing: readonly Missing[]): Promise<void>
  /** All that was added, oldest first and in groups of bounded size, and forgets it. */
  take(): AsyncGenerator<Missing[]>
  close(): void
}

/** One wait for the log is enough for these. */
const group_chars = 1024 * 1024
/** The rest lies in a file that SQLite removes by itself, also after a kill. */
const cache_kib = 16 * 1024

/**
 * Sorts more than fits into memory: a temporary database for each day, which SQLite keeps in a nameless file. Its index has rows
 * come in their order one by one: a sort of all of them would hold up the process.
 */
export function openStaged(pause: Pause): Staged {
  let day: Day | null = null
  const close = () => {
    day?.database.close()
    day = null
  }
  return {
    async add(missing) {
      for (const one of missing) {
        await pause()
        day ??= openDay()
        day.insert.run(one.envelope.received_at_ms, JSON.stringify(one))
      }
    },
    async *take() {
      let group: Missing[] = []
      let chars = 0
      for (const { missing } of day?.ordered.iterate() ?? []) {
        await pause()
        group.push(JSON.parse(missing as string))
        chars += (missing as string).length
        if (chars < group_chars) continue
        yield group
        group = []
        chars = 0
      }
      if (group.length > 0) yield group
      close()
    },
    close,
  }
}

type Day = ReturnType<typeof openDay>

function openDay() {
  const database = new DatabaseSync('')
  database.exec(`PRAGMA journal_mode = OFF; PRAGMA cache_size = -${cache_kib};
    CREATE TABLE staged (received_at_ms INTEGER, missing TEXT);
    CREATE INDEX in_order ON staged (received_at_ms)`)
  return {
    database,
    insert: database.prepare('INSERT INTO staged VALUES (?, ?)'),
    ordered: database.prepare('SELECT missing FROM staged INDEXED BY in_order ORDER BY received_at_ms, rowid'),
  }
}
