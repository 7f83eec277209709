import { type AppDay, appDayOf } from '@tributary/audit-store/audit-days'
import type { AuditStore } from '@tributary/audit-store/audit-store'
import { hour_ms, limits } from '@tributary/contracts/limits'
import { cachedLookup } from '@tributary/tenancy/credentials/cached-lookup'
import type { Pool } from 'pg'
import type { Logger } from 'pino'

/** How long a writer goes by a note before it notes the day again. */
const noted_ms_max = hour_ms
/** Longest time between the answer of `note` and the end of the put: far above each limit of a request. */
const object_ms_max = hour_ms

export interface LateDaysOptions {
  pool: Pool
  /** Clock of ages alone: `elapsed` of `Service`. */
  elapsed(): number
  logger: Pick<Logger, 'warn' | 'error'>
}

/**
 * Tells retention of audit objects that come under days which it may have blanked
 * (docs/decisions/erasure.md#objects-of-blanked-days-are-noted).
 */
export interface LateDays {
  /** Writers await it before they put an object of this UTC day (`YYYY-MM-DD`). A day that is not late costs a look into memory. */
  note(app_ids: Iterable<string>, day: string): Promise<void>
}

interface Blanking {
  before: string
  /** The one row is of all companies. */
  company_id: null
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
  /** The days of apps that were noted, since a time. */
  let noted = { since_ms: Number.NEGATIVE_INFINITY, days: new Map<string, Promise<void>>() }

  function noteOnce(app_id: string, day: string): Promise<void> {
    if (elapsed() - noted.since_ms >= noted_ms_max) noted = { since_ms: elapsed(), days: new Map() }
    const { days } = noted
    if (days.size === 0)
      logger.warn({ app_id, day }, 'audit objects come under days that retention has passed: is a clock behind?')
    const name = `${app_id}/${day}`
    const noting = days.get(name) ?? noteLateDay(pool, { app_id, day })
    days.set(name, noting)
    noting.catch(() => days.delete(name))
    return noting
  }

  return {
    async note(app_ids, day) {
      const blanking = await newest.find('')
      if (blanking === null || day >= blanking.before) return
      await Promise.all([...app_ids].map((app_id) => noteOnce(app_id, day)))
    },
  }
}

/** The same store for requests of apps: it tells of late ones before it puts them. */
export const notingLateDays = <Store extends Pick<AuditStore, 'putOnce'>>(audit: Store, late: LateDays): Store => ({
  ...audit,
  async putOnce(key, content) {
    const noted = appDayOf(key)
    if (noted !== null) await late.note([noted.app_id], noted.day)
    return audit.putOnce(key, content)
  },
})

async function findBlanking(pool: Pool): Promise<Blanking | null> {
  const { rows } = await pool.query<{ before: string }>('SELECT before::text AS before FROM blanking')
  return rows[0] === undefined ? null : { before: rows[0].before, company_id: null }
}

async function noteLateDay(pool: Pool, { app_id, day }: AppDay): Promise<void> {
  await pool.query(
    `INSERT INTO late_days (app_id, day) VALUES ($1, $2)
     ON CONFLICT (app_id, day) DO UPDATE SET noted_at = greatest(late_days.noted_at, now())`,
    [app_id, day],
  )
}

/**
 * Begins a run of retention on a UTC day. Writers learn of it within 10 s (`credentials_fresh_ms`). No mark lies behind what they know,
 * whatever clock set it. Gives back a time by PostgreSQL's clock: whoever noted a day before it has put its object.
 */
export async function beginBlanking(pool: Pool, today: string): Promise<string> {
  const { rows } = await pool.query<{ noted_before: string }>(
    `UPDATE blanking SET before = greatest($1::date, (SELECT max(addresses_blanked_before) FROM companies))
     RETURNING (now() - make_interval(secs => $2))::text AS noted_before`,
    [today, (noted_ms_max + limits.credentials_stale_ms_max + object_ms_max) / 1000],
  )
  return rows[0]!.noted_before
}

/** All late days. */
export async function findLateDays(pool: Pool): Promise<AppDay[]> {
  const { rows } = await pool.query<AppDay>('SELECT app_id, day::text AS day FROM late_days ORDER BY app_id, day')
  return rows
}

/** Forgets late days that a run has dealt with, but those that were noted later: an object may be put only now. */
export async function removeLateDays(pool: Pool, days: readonly AppDay[], noted_before: string): Promise<void> {
  await pool.query(
    `DELETE FROM late_days USING unnest($1::text[], $2::date[]) AS done (app_id, day)
     WHERE late_days.app_id = done.app_id AND late_days.day = done.day AND noted_at < $3::timestamptz`,
    [days.map(({ app_id }) => app_id), days.map(({ day }) => day), noted_before],
  )
}
