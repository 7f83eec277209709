import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { expect, onTestFinished, test, vi } from 'vitest'
import { inTransaction } from '../src/transaction.ts'

test('a connection that breaks inside a transaction rejects it, and ends neither the process nor the pool', async () => {
  const { pool, close } = await openTestPostgres()
  onTestFinished(close)
  const uncaught = vi.fn()
  process.on('uncaughtException', uncaught)
  onTestFinished(() => void process.off('uncaughtException', uncaught))
  const work = inTransaction(pool, (client) => client.query('SELECT pg_terminate_backend(pg_backend_pid())'))
  await expect(work).rejects.toThrow('terminating connection')
  expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  expect(uncaught).not.toHaveBeenCalled()
})
