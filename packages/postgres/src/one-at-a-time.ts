import { hash } from 'node:crypto'
import { CodedError } from '@tributary/contracts/errors'
import type { Pool } from 'pg'
import { retryLater } from './batched-load.ts'

/** Runs `work` unless another process or request runs work of this name: then rejects with `unavailable` at once. */
export async function oneAtATime<T>(pool: Pool, name: string, work: () => Promise<T>): Promise<T> {
  const done = await unlessRunning(pool, name, work)
  if (done === null) throw new CodedError('unavailable', { ...retryLater, message: `Another ${name} runs.` })
  return done.result
}

/** Runs `work` unless another process or request runs work of this name: then gives null at once. */
export async function unlessRunning<T>(
  pool: Pool,
  name: string,
  work: () => Promise<T>,
): Promise<{ result: T } | null> {
  const lock = hash('sha256', name, 'buffer').readBigInt64BE().toString()
  const client = await pool.connect()
  let broken: Error | undefined
  // A session that breaks off while `work` runs would end the process otherwise.
  const noteBroken = (error: Error) => {
    broken = error
  }
  let mayHold = true
  client.on('error', noteBroken)
  try {
    const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [lock])
    mayHold = rows[0]?.locked === true
    return mayHold ? { result: await work() } : null
  } finally {
    // Of a lock that is not held the server would write a warning at each look.
    if (mayHold) await client.query('SELECT pg_advisory_unlock($1)', [lock]).catch(noteBroken)
    client.off('error', noteBroken)
    // The end of a session ends its lock.
    client.release(broken)
  }
}
