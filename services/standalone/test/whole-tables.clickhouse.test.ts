import { readdirSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import type { Broker } from '@tributary/broker/broker'
import type { Service } from '@tributary/service-kit/service/run-service'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import pino from 'pino'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { keepTablesWhole } from '../src/whole-tables.ts'

const openDisk = { open: () => true, opened: async () => {} }
const broker = { groupOffsets: async () => [] } as unknown as Broker

let clickhouse: TestClickhouse
let service: Service
const closes: (() => Promise<void>)[] = []
beforeEach(async () => {
  clickhouse = await openTestClickhouse()
  service = {
    ...{ name: 'test', logger: pino({ level: 'silent' }), registry: new Registry() },
    ...{ now: Date.now, elapsed: () => performance.now() },
    ...{ onClose: (_what, close) => closes.push(close), checks: {}, troubles: [], endNow() {} },
  }
  for (const n of [1, 2, 3]) {
    const row = testEventRow({ app_id: 'a', ts_ms: Date.UTC(2026, 5, n), offset: n })
    await clickhouse.insertEvents([row], `token-${n}`)
  }
})
afterEach(async () => {
  for (const close of closes.splice(0)) await close()
  await clickhouse.close()
})

const keepWhole = () => {
  const options = { data_dir: clickhouse.data_dir, disk: openDisk, part_check_pause_ms: 10 }
  return keepTablesWhole(clickhouse, broker, options, service)
}
const troubles = () => service.troubles.flatMap((look) => look())

async function activePart(table: string): Promise<string> {
  const [part] = await clickhouse.query<{ path: string }>(
    `SELECT path FROM system.parts WHERE active AND database = 'tributary' AND table = '${table}'`,
  )
  return part!.path
}

test('a merged part that a full disk cut off goes out of use by itself, and none of its rows is lost', async () => {
  const before = await clickhouse.readEventTables()
  expect(await keepWhole()).toMatchObject({ reread: false })
  await clickhouse.command('OPTIMIZE TABLE event_keys_v1 FINAL')
  const path = await activePart('event_keys_v1')
  for (const file of readdirSync(path)) if (file !== 'data.bin') truncateSync(join(path, file), 0)
  await vi.waitFor(
    async () => {
      expect(await service.registry.metrics()).toContain('tributary_broken_parts_total{table="event_keys_v1"} 1')
      expect(await clickhouse.readEventTables()).toEqual(before)
      expect(await clickhouse.query(`SELECT 1 FROM system.parts WHERE active AND path = '${path}'`)).toEqual([])
    },
    { timeout: 180_000 },
  )
  expect(troubles()).toEqual([])
})

test('lost events are told on /health, and the log is read again, at later starts too until it is sure', async () => {
  const path = await activePart('events_raw_v1')
  await clickhouse.reopen(async () => rmSync(path, { recursive: true }))
  expect(await keepWhole()).toMatchObject({ reread: true })
  expect(troubles()).toMatchObject([{ code: 'events_lost', fix: expect.stringContaining('--from-audit') }])
  const again = await keepWhole()
  expect(again).toMatchObject({ reread: true })
  await again.settle()
  expect(await keepWhole()).toMatchObject({ reread: false })
})

test('lost events are told until a replay of the whole audit store has filled them', async () => {
  const path = await activePart('events_raw_v1')
  await clickhouse.reopen(async () => rmSync(path, { recursive: true }))
  const tables = await keepWhole()
  expect(troubles()).toHaveLength(1)
  tables.filled()
  expect(troubles()).toEqual([])
})
