import { DatabaseError } from 'pg'
import { LockLostError } from './one-at-a-time.ts'

/** SQLSTATE classes of a server that can't do its work now: connection, resources, operator intervention, system. */
const awayClasses = new Set(['08', '53', '57', '58'])

/** True when an error of a query means that PostgreSQL is away or too slow, and not that the query was wrong. */
export function isPostgresAway(error: unknown): boolean {
  if (error instanceof DatabaseError) return awayClasses.has((error.code ?? '').slice(0, 2))
  if (error instanceof LockLostError) return true
  if (!(error instanceof Error)) return false
  // pg has no class for these: they are socket errors, or plain errors with these words.
  return (
    'syscall' in error || error instanceof AggregateError || /timeout|terminated|not queryable/i.test(error.message)
  )
}
