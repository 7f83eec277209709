import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { askAwaited, awaitJob, doAwaited, type JobInHand, leaveJob } from '../src/awaited-jobs.ts'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await openTestPostgres()
})
afterAll(() => postgres.close())
afterEach(() => postgres.pool.query('DELETE FROM jobs'))

const day_ms = 86_400_000
const clock = { ms: Date.UTC(2026, 5, 1) }
const now = () => clock.ms
const running = new AbortController().signal
const ask = (asked: object = {}) => askAwaited(postgres.pool, 'replay', asked, now())
const look = (number: number | null) => awaitJob(postgres.pool, number!)
const take = (work: (job: JobInHand) => Promise<object> = async () => ({}), stop = running) =>
  doAwaited(postgres.pool, 'replay', { now, stop, work })
/** Makes the last sign too old. */
const silence = (who: 'awaited_until' | 'held_until') =>
  postgres.pool.query(`UPDATE jobs SET ${who} = now() - interval '1 second'`)
/** Resolves when a signal fires. */
const fired = (signal: AbortSignal) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
const brokenOff = { error: 'It broke off.' }

test('whoever asks gets the answer of the work, and sees meanwhile how far it came', async () => {
  const number = await ask({ source: 'log' })
  expect(await look(number)).toEqual({ begun: false, progress: null, outcome: null })
  let percent = 0
  await take(async ({ asked, show }) => {
    show(() => ({ percent }))
    await expect.poll(() => look(number)).toEqual({ begun: true, progress: { percent: 0 }, outcome: null })
    percent = 100
    return { asked }
  })
  expect(await look(number)).toEqual({
    ...{ begun: true, progress: { percent: 100 } },
    outcome: { asked: { source: 'log' } },
  })
})

test('of a kind one is open at a time, of however many that are asked for at once', async () => {
  const numbers = await Promise.all(Array.from({ length: 5 }, () => ask()))
  expect(numbers.filter((number) => number !== null)).toHaveLength(1)
  expect(await askAwaited(postgres.pool, 'dead_retry', {}, now())).not.toBeNull()
  await take(async () => {
    expect(await ask()).toBeNull()
    return {}
  })
  expect(await ask()).not.toBeNull()
})

test('work that fails says why, and how far it came', async () => {
  const number = await ask()
  const failing = take(async ({ show }) => {
    show(() => ({ percent: 3 }))
    throw new Error('no memory')
  })
  await expect(failing).rejects.toThrow('no memory')
  expect(await look(number)).toEqual({ begun: true, progress: { percent: 3 }, outcome: { error: 'no memory' } })
})

test('work is told that whoever asked has left, or is silent, on the clock of PostgreSQL', async () => {
  for (const leave of [
    async (number: number) => leaveJob(postgres.pool, number, now()),
    () => silence('awaited_until'),
  ]) {
    const number = await ask()
    await take(async ({ left, ended }) => {
      expect([left.aborted, ended.aborted]).toEqual([false, false])
      await leave(number!)
      await fired(left)
      return { left: true }
    })
    expect(await look(number)).toMatchObject({ outcome: { left: true } })
  }
})

test('work that nobody waits for any more never begins', async () => {
  const left = await ask()
  await leaveJob(postgres.pool, left!, now())
  expect(await look(left)).toMatchObject({ begun: false, outcome: { error: 'It has not begun.' } })
  const silent = await ask()
  await silence('awaited_until')
  let begun = 0
  await take(async () => ({ begun: ++begun }))
  expect([begun, (await look(silent)).outcome]).toEqual([0, brokenOff])
})

test('whoever died before its work began keeps nobody out', async () => {
  await ask()
  await silence('awaited_until')
  expect(await ask()).not.toBeNull()
})

test('work that a crash broke off has failed: whoever asked hears it, and it is not begun once more', async () => {
  const number = await ask()
  // A killed process leaves this.
  await postgres.pool.query(
    `UPDATE jobs SET begun_at_ms = 1, progress = '{"percent": 7}', held_until = now() + interval '9 s'`,
  )
  expect(await look(number)).toMatchObject({ begun: true, outcome: null })
  expect(await ask()).toBeNull()
  await silence('held_until')
  expect(await look(number)).toEqual({ begun: true, progress: { percent: 7 }, outcome: brokenOff })
  expect(await ask()).not.toBeNull()
  let begun = 0
  await take(async () => ({ begun: ++begun }))
  expect([begun, (await look(number)).outcome]).toEqual([1, brokenOff])
})

test('a process that starts again ends what it left at once', async () => {
  const number = await ask()
  await postgres.pool.query(`UPDATE jobs SET begun_at_ms = 1, held_until = now() + interval '9 s'`)
  await take()
  expect(await look(number)).toMatchObject({ outcome: brokenOff })
})

test('work ends that was given up for lost, and what it answers then counts for nothing', async () => {
  const number = await ask()
  await take(async ({ ended }) => {
    // The sign of a second may come in between, and is taken away again.
    await expect.poll(() => silence('held_until').then(() => ask())).not.toBeNull()
    await fired(ended)
    return { done: true }
  })
  expect(await look(number)).toMatchObject({ outcome: brokenOff })
})

test('work ends with its process, and is not begun once more', async () => {
  const number = await ask()
  const stop = new AbortController()
  await take(async ({ ended }) => {
    stop.abort()
    return { ended: ended.aborted }
  }, stop.signal)
  expect(await look(number)).toMatchObject({ outcome: { ended: true } })
})

test('one process does the work, and what ended a day ago is forgotten', async () => {
  const number = await ask()
  let begun = 0
  const work = async () => ({ begun: ++begun })
  await Promise.all([take(work), take(work), take(work)])
  expect([begun, (await look(number)).outcome]).toEqual([1, { begun: 1 }])
  clock.ms += day_ms + 1
  await ask()
  await take()
  expect((await postgres.pool.query('SELECT number FROM jobs WHERE number = $1', [number])).rows).toEqual([])
})
