import { hash } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'

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
export const unlessRunning = <T>(pool: Pool, name: string, work: LockedWork<T>): Promise<{ result: T } | null> =>
  withLock(pool, name, work, async (client, lock) => {
    const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [lock])
    return rows[0]?.locked === true
  })

/**
 * The same, but it waits `wait_ms` at most for the work that runs; then returns null. PostgreSQL gives the lock to whoever has
 * waited longest: work that takes it again and again cannot pass.
 */
export const afterRunning = <T>(
  pool: Pool,
  name: string,
  wait_ms: number,
  work: LockedWork<T>,
): Promise<{ result: T } | null> =>
  withLock(pool, name, work, async (client, lock) => {
    const { rows } = await client.query<{ before: string }>(
      `SELECT current_setting('lock_timeout') AS before, set_config('lock_timeout', $1, false)`,
      [`${wait_ms}ms`],
    )
    const isLocked = await client.query('SELECT pg_advisory_lock($1)', [lock]).then(
      () => true,
      (err: { code?: string }) => {
        if (timeouts.has(err.code)) return false
        throw err
      },
    )
    await client.query(`SELECT set_config('lock_timeout', $1, false)`, [rows[0]!.before])
    return isLocked
  })

/** SQLSTATE of an elapsed `lock_timeout` and of a shorter `statement_timeout`. */
const timeouts = new Set<string | undefined>(['55P03', '57014'])

type LockedWork<T> = (lost: AbortSignal, held: () => Promise<void>) => Promise<T>

async function withLock<T>(
  pool: Pool,
  name: string,
  work: LockedWork<T>,
  acquire: (client: PoolClient, lock: string) => Promise<boolean>,
): Promise<{ result: T } | null> {
  const lock = hash('sha256', name, 'buffer').readBigInt64BE().toString()
  const lost = new AbortController()
  const lose = (cause: Error) => lost.abort(new LockLostError(name, cause))
  const client = await pool.connect()
  client.on('error', lose)
  let mayHold = true
  try {
    if (!(await acquire(client, lock))) {
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
