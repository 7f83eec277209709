import { limits } from '@tributary/contracts/limits'
import { hasEnded } from '@tributary/domain/people/session-rules'
import { listenForChanges } from '@tributary/postgres/change-listener'
import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { postgresUnavailable } from '../../postgres-unavailable.ts'
import { tokenHash } from '../random-token.ts'
import { findSession, type OpenSession, touchSession } from './sessions.ts'

const sessions_max = 10_000

export interface SessionsOptions {
  pool: Pool
  /** Unix epoch ms: sessions end by it. */
  now: () => number
  /** For ages alone: `elapsed` of `Service`. */
  elapsed: () => number
  logger: Logger
}

export interface Sessions {
  /**
   * The session of a token that has not ended; one that waits for its second factor too. `anew` reads it from PostgreSQL.
   * Throws `unavailable`.
   */
  find(token: string, options?: { anew?: boolean }): Promise<OpenSession | null>
  close(): Promise<void>
}

interface Entry {
  found: Promise<OpenSession | null>
  loaded_at: number
}

/**
 * Sessions from memory, which is half a second behind PostgreSQL at most: a revoked one ends in every process within that
 * time, and at once where the notification arrives. With PostgreSQL away nobody has a session.
 */
export function openSessions({ pool, now, elapsed, logger }: SessionsOptions): Sessions {
  const kept = new LRUCache<string, Entry>({ max: sessions_max })
  // One change in a while: forgetting everything costs each open session one query.
  const listener = listenForChanges({ pool, logger, channels: ['people_changed'], onChange: () => kept.clear() })

  async function load(session_hash: Buffer): Promise<OpenSession | null> {
    try {
      const found = await findSession(pool, session_hash, now())
      const isUsed = found?.complete === true && !hasEnded(found, now())
      if (!isUsed || now() - found.seen_at_ms < limits.session_seen_ms) return found
      await touchSession(pool, session_hash, now())
      return { ...found, seen_at_ms: now() }
    } catch (error) {
      throw postgresUnavailable(error)
    }
  }

  return {
    async find(token, { anew = false } = {}) {
      const session_hash = tokenHash(token)
      const key = session_hash.toString('base64')
      let entry = kept.get(key)
      if (anew || entry === undefined || elapsed() - entry.loaded_at >= limits.session_cache_ms_max) {
        entry = { found: load(session_hash), loaded_at: elapsed() }
        // A change that comes while the query runs clears it too.
        kept.set(key, entry)
        const { found } = entry
        found.catch(() => kept.peek(key)?.found === found && kept.delete(key))
      }
      const session = await entry.found
      return session === null || hasEnded(session, now()) ? null : session
    },
    close: () => listener.close(),
  }
}
