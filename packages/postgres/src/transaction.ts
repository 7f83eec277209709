import type { Pool, PoolClient } from 'pg'

/** Runs `work` in one transaction and returns its result; any error rolls everything back and is thrown again. */
export async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query('BEGIN')
    const result = await work(client)
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch((cause) => {
      broken = cause
    })
    throw error
  } finally {
    // A connection that could not roll back must not be used again.
    client.release(broken)
  }
}
