import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drainPending } from 'chdb'
import { afterAll, afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { EngineStuck } from '../../src/embedded/call-watch.ts'
import { openEmbeddedClickhouse } from '../../src/embedded/embedded-clickhouse.ts'

const minute = 60_000
const threeSeconds = 'SELECT sleepEachRow(1) FROM numbers(3) SETTINGS max_block_size = 1'

// All tests have one engine, because one that stands still is never closed.
const data_dir = await mkdtemp(join(tmpdir(), 'tributary-stuck-'))
const told: EngineStuck[] = []
const open = () => openEmbeddedClickhouse({ data_dir, onStuck: (error) => told.push(error) })

beforeEach(() => {
  told.length = 0
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(async () => {
  vi.useRealTimers()
  await drainPending()
})
afterAll(() => rm(data_dir, { recursive: true, force: true }))

test('an engine that does not come back from a statement takes no other, and cannot be closed', async () => {
  const clickhouse = await open()
  const outcomes = Promise.allSettled([
    clickhouse.query(threeSeconds),
    clickhouse.query(threeSeconds),
    clickhouse.query('SELECT 1'), // waits for a session
  ])
  await vi.advanceTimersByTimeAsync(16 * minute)
  for (const outcome of await outcomes)
    expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(EngineStuck) })
  await expect(clickhouse.query('SELECT {n:UInt8}', { n: 1 })).rejects.toThrow(EngineStuck)
  await expect(clickhouse.checkHealth()).rejects.toThrow(EngineStuck)
  await expect(clickhouse.close()).rejects.toThrow(EngineStuck)
  expect(told).toHaveLength(1)
})

test('a close waits for a statement in hand, but not for ever', async () => {
  const clickhouse = await open()
  const running = expect(clickhouse.command(threeSeconds)).rejects.toThrow(EngineStuck)
  const closed = expect(clickhouse.close()).rejects.toThrow(/stands still: its close/)
  await vi.advanceTimersByTimeAsync(3 * minute)
  await Promise.all([running, closed])
  expect(told).toHaveLength(1)
})

test('a process whose engine crashes ends at once', async () => {
  const other_dir = await mkdtemp(join(tmpdir(), 'tributary-crash-'))
  onTestFinished(() => rm(other_dir, { recursive: true }))
  const program = join(import.meta.dirname, 'crashing-engine.ts')
  const child = spawn(process.execPath, [program, other_dir], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  const crashed = Date.now()
  child.kill('SIGSEGV')
  const [, signal] = await once(child, 'close')
  expect(signal).toBe('SIGSEGV')
  // The handler of chdb would take five minutes.
  expect(Date.now() - crashed).toBeLessThan(2 * minute)
})
