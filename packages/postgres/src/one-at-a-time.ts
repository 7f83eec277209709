import { hash } from 'node:crypto'
import type { Pool } from 'pg'

/** The session that held a lock broke off while its work ran: other work of that name may have run beside it. */
export class LockLostError extends Error {
  override name = 'LockLostError'
  constructor(lock: string, cause: Error) {
    super(`The lock "${lock}" was lost while its work ran.`, { cause })
  }
}

/**
 * Runs `work` unless another process or request runs work of this name; then returns null at once. The lock belongs to a
 * session of PostgreSQL. If that session breaks off, the signal fires, and the call rejects with `LockLostError` as soon
 * as the work has ended: its result is refused, since the same work may run elsewhere by then. `held` checks the session in
 * PostgreSQL and rejects once the lock is lost: a process that stood still, or whose network did, has had no signal yet.
 */
export async function unlessRunning<T>(
  pool: Pool,
  name: string,
  work: (lost: AbortSignal, held: () => Promise<void>) => Promise<T>,
): Promise<{ result: T } | null> {
  const lock = hash('sha256', name, 'buffer').readBigInt64BE().toString()
  const lost = new AbortController()
  const lose = (cause: Error) => lost.abort(new LockLostError(name, cause))
  const client = await pool.connect()
  client.on('error', lose)
  let mayHold = true
  try {
    const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [lock])
    if (rows[0]?.locked !== true) {
      mayHold = false
      return null
    }
    try {
      const held = async () => {
        await client.query('SELECT 1').catch(lose)
        lost.signal.throwIfAborted()
      }
      return { result: await work(lost.signal, held) }
    } finally {
      await client.query('SELECT pg_advisory_unlock($1)', [lock]).then(() => {
        mayHold = false
      }, lose)
      lost.signal.throwIfAborted()
    }
  } finally {
    client.off('error', lose)
    // The end of a session ends its lock.
    client.release(mayHold)
  }
}
