import { type ObjectPlace, placeOf } from '@tributary/audit-store/audit-days'
import type { AuditStore } from '@tributary/audit-store/audit-store'
import { cachedLookup } from '@tributary/tenancy/credentials/cached-lookup'
import type { Pool } from 'pg'
import type { Logger } from 'pino'

export interface LateDaysOptions {
  pool: Pool
  /** For ages alone: `elapsed` of `Service`. */
  elapsed(): number
  logger: Pick<Logger, 'warn' | 'error'>
}

/** Tells retention of audit objects that come under days which it may have blanked (docs/adr/0507). */
export interface LateDays {
  /** To be awaited before an object of this UTC day (`YYYY-MM-DD`) is put. It costs a look into memory, but for a late day. */
  note(app_ids: Iterable<string>, day: string): Promise<void>
}

interface Blanking {
  run: number
  before: string
  company_id: string
}

/** Late days over PostgreSQL. While it is away, `note` goes by what it answered up to ten minutes ago, and rejects for a late day. */
export function openLateDays({ pool, elapsed, logger }: LateDaysOptions): LateDays {
  const newest = cachedLookup<Blanking, Blanking>({
    load: () => findBlanking(pool),
    toValue: (row) => row,
    now: elapsed,
    onFailure: (err) => logger.error({ err }, 'PostgreSQL did not say which days are blanked'),
    onStaleAnswer() {},
  })
  /** The days of apps that were noted under a run. */
  let known = { run: -1, notes: new Map<string, Promise<void>>() }

  function noteOnce(app_id: string, day: string, run: number): Promise<void> {
    if (known.run !== run) {
      known = { run, notes: new Map() }
      logger.warn({ app_id, day }, 'audit objects come under days that retention has passed: is a clock behind?')
    }
    const { notes } = known
    const name = `${app_id}/${day}`
    const noting = notes.get(name) ?? noteLateDay(pool, { app_id, day, run })
    notes.set(name, noting)
    noting.catch(() => notes.delete(name))
    return noting
  }

  return {
    async note(app_ids, day) {
      const blanking = await newest.find('')
      if (blanking === null || day >= blanking.before) return
      await Promise.all([...app_ids].map((app_id) => noteOnce(app_id, day, blanking.run)))
    },
  }
}

/** The same store for requests of apps: it tells of late ones before it puts them. */
export const notingLateDays = <Store extends Pick<AuditStore, 'putOnce'>>(audit: Store, late: LateDays): Store => ({
  ...audit,
  async putOnce(key, content) {
    const place = placeOf(key)
    if (place !== null) await late.note([place.app_id], place.day)
    return audit.putOnce(key, content)
  },
})

/** An app's UTC day, and the newest run of retention that the writer of its object knew. */
export interface LateDay extends ObjectPlace {
  run: number
}

async function findBlanking(pool: Pool): Promise<Blanking | null> {
  const { rows } = await pool.query<{ run: string; before: string }>('SELECT run, before::text AS before FROM blanking')
  return rows.length === 0 ? null : { run: Number(rows[0]!.run), before: rows[0]!.before, company_id: '' }
}

async function noteLateDay(pool: Pool, { app_id, day, run }: LateDay): Promise<void> {
  await pool.query(
    `INSERT INTO late_days (app_id, day, run) VALUES ($1, $2, $3)
     ON CONFLICT (app_id, day) DO UPDATE SET run = greatest(late_days.run, excluded.run)`,
    [app_id, day, run],
  )
}

/**
 * Begins a run of retention on a UTC day, and returns its number. Writers learn of it within 10 s (`credentials_fresh_ms`). No mark lies
 * behind what they know, whatever clock set it.
 */
export async function beginBlanking(pool: Pool, today: string): Promise<number> {
  const { rows } = await pool.query<{ run: string }>(
    `UPDATE blanking SET run = run + 1,
       before = greatest($1::date, (SELECT max(addresses_blanked_before) FROM companies)) RETURNING run`,
    [today],
  )
  return Number(rows[0]!.run)
}

/** All late days. */
export async function findLateDays(pool: Pool): Promise<LateDay[]> {
  const { rows } = await pool.query<{ app_id: string; day: string; run: string }>(
    'SELECT app_id, day::text AS day, run FROM late_days ORDER BY app_id, day',
  )
  return rows.map(({ run, ...at }) => ({ ...at, run: Number(run) }))
}

/**
 * Forgets late days that a run has dealt with. Those that a writer noted under it or under the run before stay: the object may be put
 * only now.
 */
export async function removeLateDays(pool: Pool, days: readonly LateDay[], run: number): Promise<void> {
  await pool.query(
    `DELETE FROM late_days USING unnest($1::text[], $2::date[]) AS done (app_id, day)
     WHERE late_days.app_id = done.app_id AND late_days.day = done.day AND run < $3 - 1`,
    [days.map(({ app_id }) => app_id), days.map(({ day }) => day), run],
  )
}
