import type { Click } from '@tributary/contracts/attribution/click'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createClickLog } from '../src/click-log.ts'

const partitions = 1

function openClickLog() {
  const broker = memoryBroker(partitions, Date.now)
  const registry = new Registry()
  const clicks = createClickLog({
    ...{ broker, partitions, registry, logger: pino({ level: 'silent' }) },
  } as unknown as Parameters<typeof createClickLog>[0])
  const record = (click_id: string) => clicks.record({ app_id: 'app', click_id, filtered_reason: null } as Click)
  const late = async () => (await registry.getSingleMetric('tributary_clicks_late_total')!.get()).values[0]!.value
  return { ...clicks, broker, record, late, logged: () => broker.records(topics.clicksRecorded.name, 0).length }
}

describe('clicks on their way to the log', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  it('go there together when they come shortly one after the other', async () => {
    const clicks = openClickLog()
    const first = clicks.record('a')
    await vi.advanceTimersByTimeAsync(limits.click_gather_ms - 1)
    const second = clicks.record('b')
    expect(clicks.logged()).toBe(0)
    await vi.advanceTimersByTimeAsync(1)
    await Promise.all([first, second])
    expect(clicks.logged()).toBe(2)
  })

  it('wait for none that comes later', async () => {
    const clicks = openClickLog()
    const first = clicks.record('a')
    await vi.advanceTimersByTimeAsync(limits.click_gather_ms)
    await first
    const second = clicks.record('b')
    expect(clicks.logged()).toBe(1)
    await vi.advanceTimersByTimeAsync(limits.click_gather_ms)
    await second
    expect(clicks.logged()).toBe(2)
  })

  it('hold no redirect for longer than its patience when the log stands still', async () => {
    const clicks = openClickLog()
    clicks.broker.publish = () => new Promise(() => {})
    const first = clicks.record('a')
    await vi.advanceTimersByTimeAsync(limits.click_gather_ms - 1)
    const second = clicks.record('b')
    await vi.advanceTimersByTimeAsync(limits.click_wait_ms_max)
    await Promise.all([first, second])
    expect(await clicks.late()).toBe(2)
  })

  it('are there when a stop has waited for them', async () => {
    const clicks = openClickLog()
    void clicks.record('a')
    const closed = clicks.close()
    await vi.advanceTimersByTimeAsync(limits.click_gather_ms)
    await closed
    expect(clicks.logged()).toBe(1)
  })
})
