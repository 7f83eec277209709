import type { Broker, PartitionOffsets } from '@tributary/broker/broker'
import { Found } from '@tributary/contracts/attribution/found'
import { consumers } from '@tributary/contracts/consumers'
import { clickhouseLookups } from '@tributary/deciding/lookups/clickhouse-lookups'
import { noTombstones } from '@tributary/domain/erasure/tombstones'
import { installAttributor } from '@tributary/install-attributor/install-attributor'
import type { Batch } from '@tributary/service-kit/consumer/define-consumer'
import { memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'
import { expect, test } from 'vitest'
import { memoryLookups } from './model/memory-lookups.ts'
import { click, install, t0 } from './model/story.ts'
import { apps } from './model/world.ts'

const read: PartitionOffsets = {
  ...{ partition: 0, committed: 1, metadata: null, earliest: 0, end: 1, oldest_unread_ms: null },
}

/** An attributor with a batch of one install, whose wait for install-writer ends when `written` is called. */
function waiting() {
  const tables = { facts: [], clicks: [], newest: new Map(), floods: [] }
  const calls: string[] = []
  const lookups = memoryLookups(tables)
  let committed = 0
  const broker = {
    groupOffsets: async (group: string) => [group === consumers.installWriter.name ? { ...read, committed } : read],
    partitionCount: async () => 1,
    publish: async () => void calls.push('publish'),
  } as unknown as Broker
  const loaded = Promise.withResolvers<void>()
  const attributor = installAttributor({
    ...{ broker, attributionApps: apps, geo: { lookUp: () => ({ country: null, datacenter: false }) }, now: () => t0 },
    redecisions: memoryRedecisions(),
    clickhouse: { query: async () => [], insert: async () => void calls.push('insert') },
    lookups: {
      ...lookups,
      async facts(...given) {
        calls.push('facts')
        loaded.resolve()
        return lookups.facts(...given)
      },
      async newest(...given) {
        calls.push('verdicts')
        return lookups.newest(...given)
      },
    },
  })
  const stop = new AbortController()
  const handled = attributor.handle({
    ...{
      topic: 'installs.found.v1',
      partition: 0,
      source: 'installs.found.v1@a',
      from: 0,
      to: 0,
      attempt: 1,
    },
    tombstones: noTombstones,
    ...{ token: 't', state: undefined, signal: stop.signal },
    ...{ keep() {}, fence: async () => {}, dead() {}, dropped() {}, written() {} },
    records: [{ value: Found.parse(install(1)), record: {} }],
  } as unknown as Batch<Found>)
  return { calls, handled, loaded: loaded.promise, stop, written: () => (committed = 1) }
}

test('facts are stored and read while the batch waits, verdicts only when earlier ones are written', async () => {
  const { calls, handled, loaded, written } = waiting()
  await loaded
  expect(calls.slice(0, 2)).toEqual(['insert', 'facts'])
  expect(calls).not.toContain('verdicts')
  written()
  await handled
  expect(calls.indexOf('verdicts')).toBeGreaterThan(calls.lastIndexOf('insert'))
  expect(calls.at(-1)).toBe('publish')
})

test('a batch that waits ends with its signal, and nothing is decided', async () => {
  const { calls, handled, loaded, stop } = waiting()
  await loaded
  stop.abort()
  await expect(handled).rejects.toThrow()
  expect(calls).not.toContain('publish')
})

test('no look-up has parameters, which would let it wait for reports in the embedded engine', async () => {
  const given: unknown[] = []
  const lookups = clickhouseLookups({
    async query<Row>(sql: string, params?: Record<string, unknown>) {
      given.push(params)
      return (sql.includes('click_keys_v1') ? [click(1)] : []) as Row[]
    },
  })
  const { app_id, click_id } = click(1)
  const range = { match_key: '1', at_ms: t0, from_ms: 0, to_ms: t0 + 1, window_ms: 1, window_ms_max: 1 }
  await lookups.facts(app_id, ['i1'])
  await lookups.newest(app_id, ['i1'])
  await lookups.claims(app_id, [click_id])
  await lookups.clicks(app_id, [click_id], [range])
  await lookups.installs(app_id, [range])
  await lookups.hits([app_id], [range])
  await lookups.floods(app_id, ['2026-01-31'])
  expect(given.length).toBeGreaterThanOrEqual(9)
  expect(given.filter((params) => params !== undefined)).toEqual([])
})
