import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { day_ms } from '@tributary/contracts/limits'

/** Name of the database beside the live one in which tables are built. A killed rebuild goes on in it. */
export const scratchOf = (live: string): string => `${live}_rebuild`

/** What a rebuild has done in its scratch database. A name is an app and a day, or a step. */
export interface Steps {
  isDone(step: string): boolean
  done(step: string): Promise<void>
  /** The UTC day (`YYYY-MM-DD`) of a folder of the audit store. A day that had not ended when it was read is read again. */
  isRead(folder: string, day: string): boolean
}

const made = `
  CREATE TABLE IF NOT EXISTS rebuild_steps (step String, done_at_ms Int64) ENGINE = MergeTree ORDER BY step`

/** The steps that the scratch database notes, by the clock of the caller. */
export async function openSteps(scratch: Clickhouse, now: () => number): Promise<Steps> {
  await scratch.command(made)
  const rows = await scratch.query<{ step: string; at_ms: number }>(
    'SELECT step, max(done_at_ms) AS at_ms FROM rebuild_steps GROUP BY step',
  )
  const known = new Map(rows.map(({ step, at_ms }) => [step, at_ms]))
  return {
    isDone: (step) => known.has(step),
    // Gateways date objects by their own clocks, which differ by less than a day.
    isRead: (folder, day) => (known.get(`${folder}/${day}`) ?? 0) >= Date.parse(day) + 2 * day_ms,
    async done(step) {
      const at_ms = now()
      await insertInto(scratch, 'rebuild_steps', ['step', 'done_at_ms'], [JSON.stringify([step, at_ms])])
      known.set(step, at_ms)
    },
  }
}

/** Begin of the names of all statements of a rebuild (`isInserting`). */
export const rebuild_token = 'rebuild/'

/** Inserts lines under a token of their own. */
export async function insertInto(
  scratch: Pick<Clickhouse, 'insert'>,
  table: string,
  columns: readonly string[],
  lines: readonly string[],
): Promise<void> {
  if (lines.length === 0) return
  const token = `${rebuild_token}${table}/${randomUUID()}`
  await scratch.insert({ table, columns: [...columns], lines: lines.join('\n'), token })
}

/** Name of the database that a connection uses, fit to stand in a statement. */
export async function databaseOf(clickhouse: Pick<Clickhouse, 'query'>): Promise<string> {
  const [row] = await clickhouse.query<{ name: string }>('SELECT currentDatabase() AS name')
  const name = row?.name ?? ''
  if (!/^\w+$/.test(name)) throw new Error(`The name of the database ${name} has another shape`)
  return name
}
