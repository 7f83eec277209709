import { day_ms, limits } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import type { Pool } from 'pg'

const kept_days = 62

/** One notice: `day` is a UTC day. */
export interface NoticeKey {
  target: string
  day: string
}

/** A target whose notice of the day may be tried now. */
export interface DueNotice {
  target: string
  /** Entries of the last notice that it got, or may have got. */
  heard: number
}

/** The targets whose notice of the day was not sent yet, and is not in the hands of another process. */
export async function findDue(pool: Pool, targets: readonly string[], now_ms: number): Promise<DueNotice[]> {
  const { rows } = await pool.query<DueNotice>(
    `SELECT t.target, greatest(n.entries, (
       SELECT b.entries FROM attention_notices b
       WHERE b.target = t.target AND b.day < $2 AND b.ended_at_ms IS NOT NULL ORDER BY b.day DESC LIMIT 1
     ), 0) AS heard
     FROM unnest($1::text[]) t (target) LEFT JOIN attention_notices n ON n.target = t.target AND n.day = $2
     WHERE n.day IS NULL OR (n.ended_at_ms IS NULL AND n.next_try_ms <= $3 AND n.tries < $4)`,
    [targets, utcDay(now_ms), now_ms, limits.attention_notice_tries_max],
  )
  return rows
}

/**
 * Claims a notice for a try; false: another process has it, or sent it. The claim ends by itself before the next try, so a notice
 * whose process was killed is tried again.
 */
export async function claimNotice(
  pool: Pool,
  { target, day }: NoticeKey,
  entries: number,
  now_ms: number,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `INSERT INTO attention_notices AS n (day, target, tries, next_try_ms, entries) VALUES ($1, $2, 1, $3::bigint + $4, $5)
     ON CONFLICT (target, day) DO UPDATE SET
       tries = n.tries + 1, next_try_ms = $3::bigint + $4 * 2 ^ n.tries, entries = greatest(n.entries, excluded.entries)
     WHERE n.ended_at_ms IS NULL AND n.next_try_ms <= $3 AND n.tries < $6`,
    [day, target, now_ms, limits.attention_notice_retry_ms, entries, limits.attention_notice_tries_max],
  )
  return rowCount === 1
}

/** The notice of the day of the claim was sent, or says nothing: there was nothing to say. */
export async function endNotice(pool: Pool, { target, day }: NoticeKey, entries: number, now_ms: number) {
  await pool.query('UPDATE attention_notices SET ended_at_ms = $4, entries = $3 WHERE target = $1 AND day = $2', [
    target,
    day,
    entries,
    now_ms,
  ])
}

/** The last notice of each target that was given up, unless a later one arrived. */
export async function findUnsent(pool: Pool, targets: readonly string[], now_ms: number): Promise<NoticeKey[]> {
  const { rows } = await pool.query<NoticeKey>(
    `SELECT n.target, max(n.day)::text AS day FROM attention_notices n
     WHERE n.target = ANY ($1) AND n.ended_at_ms IS NULL
       AND (n.day < $2 OR n.day = $2 AND n.tries >= $3 AND n.next_try_ms <= $4)
       AND NOT EXISTS (
         SELECT FROM attention_notices e WHERE e.target = n.target AND e.day > n.day AND e.ended_at_ms IS NOT NULL
       )
     GROUP BY n.target ORDER BY n.target`,
    [targets, utcDay(now_ms), limits.attention_notice_tries_max, now_ms],
  )
  return rows
}

export async function removeOldNotices(pool: Pool, now_ms: number): Promise<void> {
  await pool.query('DELETE FROM attention_notices WHERE day < $1', [utcDay(now_ms - kept_days * day_ms)])
}
