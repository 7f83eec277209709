import { randomUUID } from 'node:crypto'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { unlessRunning } from '../src/one-at-a-time.ts'

let postgres: TestPostgres

beforeAll(async () => {
  postgres = await openTestPostgres()
})
afterAll(() => postgres.close())

/** Ends the sessions that hold advisory locks in this database, as a failover or an operator does. */
const endHolders = () =>
  postgres.pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database ON oid = database
     WHERE locktype = 'advisory' AND datname = current_database() AND pid <> pg_backend_pid()`,
  )

test('work of one name runs once at a time, also after work that failed', async () => {
  const { pool } = postgres
  const name = randomUUID()
  const { promise: held, resolve: release } = Promise.withResolvers<string>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const first = unlessRunning(pool, name, () => {
    begin()
    return held
  })
  await begun
  expect(await unlessRunning(pool, name, async () => 'second')).toBeNull()
  expect(await unlessRunning(pool, randomUUID(), async () => 'other')).toEqual({ result: 'other' })
  release('first')
  expect(await first).toEqual({ result: 'first' })
  const failing = unlessRunning(pool, name, () => Promise.reject(new Error('no')))
  await expect(failing).rejects.toThrow('no')
  expect(await unlessRunning(pool, name, async () => 'third')).toEqual({ result: 'third' })
})

test('work whose session breaks off is aborted, and its result is refused', async () => {
  const { pool } = postgres
  const name = randomUUID()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const broken = unlessRunning(pool, name, async (lost) => {
    begin()
    await new Promise((resolve) => lost.addEventListener('abort', resolve))
    return 'done'
  })
  const outcome = expect(broken).rejects.toThrow(`The lock "${name}" was lost`)
  await begun
  await endHolders()
  await outcome
  // A session that is ended says so before it gives its locks back.
  await expect.poll(() => unlessRunning(pool, name, async () => 'next')).toEqual({ result: 'next' })
})

test('work that does not look at the signal is refused at its end, when another may have run', async () => {
  const { pool } = postgres
  const name = randomUUID()
  const broken = unlessRunning(pool, name, async () => {
    await endHolders()
    return unlessRunning(pool, name, async () => 'another')
  })
  await expect(broken).rejects.toThrow(`The lock "${name}" was lost`)
})
