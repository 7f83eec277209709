import { limits } from '@tributary/contracts/limits'
import type { PoolClient } from 'pg'
import { makeToken, tokenHash } from '../random-token.ts'

type Client = Pick<PoolClient, 'query'>

/** SQL: whether the browser of hash `$2` is known of a person `p`, at `$3` (Unix epoch ms). */
export const isKnownSql = `EXISTS (SELECT 1 FROM known_browsers b WHERE b.person_id = p.person_id
  AND b.browser_hash = $2 AND b.seen_at > to_timestamp(($3 - ${limits.known_browser_ms_max}) / 1000.0))`

/** Remembers the browser of a completed sign-in, and returns the token for its cookie. The oldest of too many is forgotten. */
export async function rememberBrowser(
  client: Client,
  person_id: string,
  present: string | null,
  now_ms: number,
): Promise<string> {
  const { rowCount } = await client.query(
    'UPDATE known_browsers SET seen_at = to_timestamp($3 / 1000.0) WHERE person_id = $1 AND browser_hash = $2',
    [person_id, tokenHash(present ?? ''), now_ms],
  )
  if (present !== null && rowCount === 1) return present
  const token = makeToken('brw')
  await client.query(
    'INSERT INTO known_browsers (browser_hash, person_id, seen_at) VALUES ($1, $2, to_timestamp($3 / 1000.0))',
    [tokenHash(token), person_id, now_ms],
  )
  await client.query(
    `DELETE FROM known_browsers WHERE person_id = $1 AND browser_hash NOT IN
       (SELECT browser_hash FROM known_browsers WHERE person_id = $1 ORDER BY seen_at DESC, browser_hash LIMIT $2)`,
    [person_id, limits.known_browsers_max],
  )
  return token
}
