import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, test, vi } from 'vitest'
import { every } from '../../src/service/every.ts'

const logger = pino({ level: 'silent' })

test('a job runs at once, again after each end, and goes on after a failure', async () => {
  const registry = new Registry()
  let runs = 0
  const work = async () => {
    runs += 1
    if (runs === 2) throw new Error('away')
  }
  const job = every({ name: 'sweep', pause_ms: 1, logger, registry, work })
  expect(runs).toBe(1)
  await vi.waitFor(() => expect(runs).toBeGreaterThan(3), { timeout: 180_000 })
  await job.close()
  const after = runs
  expect(await registry.metrics()).toMatch(/tributary_job_runs_total\{job="sweep",result="failure"\} 1\n/)
  let later_runs = 0
  const countLater = async () => {
    later_runs += 1
  }
  const later = every({ name: 'later', pause_ms: 1, logger, registry, work: countLater })
  await vi.waitFor(() => expect(later_runs).toBeGreaterThan(3), { timeout: 180_000 })
  await later.close()
  expect(runs).toBe(after)
})

test('a slow run is never overtaken by another, and closing waits for it', async () => {
  const turn = Promise.withResolvers<void>()
  let runs = 0
  let ended = false
  const work = async () => {
    runs += 1
    await turn.promise
    ended = true
  }
  const job = every({ name: 'slow', pause_ms: 0, logger, registry: new Registry(), work })
  const closing = job.close()
  turn.resolve()
  await closing
  expect([runs, ended]).toEqual([1, true])
})

test('two jobs share a registry, and a long pause does not hold up the stop', async () => {
  const registry = new Registry()
  const jobs = ['a', 'b'].map((name) => every({ name, pause_ms: 3_600_000, logger, registry, work: async () => {} }))
  await vi.waitFor(async () => expect((await registry.metrics()).match(/result="ok"\} 1/g)).toHaveLength(2), {
    timeout: 180_000,
  })
  await Promise.all(jobs.map((job) => job.close()))
})

test('a run that closing ends is no failure, in metrics and log', async () => {
  const registry = new Registry()
  const lines: string[] = []
  const told = pino({}, { write: (line: string) => void lines.push(line) })
  const work = (signal: AbortSignal) =>
    new Promise<void>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  const job = every({ name: 'ended', pause_ms: 1, logger: told, registry, work })
  await job.close()
  expect([lines, await registry.metrics()]).toEqual([[], expect.not.stringContaining('result="failure"')])
})
