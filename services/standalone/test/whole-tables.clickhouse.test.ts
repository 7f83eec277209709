import { existsSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Service } from '@tributary/service-kit/service/run-service'
import type { ReplayNeeded } from '@tributary/service-kit/service/troubles/replay-needed'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import pino from 'pino'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openReplayNeeded } from '../src/whole/open-replay-needed.ts'
import { keepTablesWhole } from '../src/whole/whole-tables.ts'

const disk = { open: () => true, opened: async () => {} }
const broker = { groupOffsets: async () => [] } as unknown as Broker

let clickhouse: TestClickhouse
let service: Service
const closes: (() => Promise<void>)[] = []
beforeEach(async () => {
  disk.opened = async () => {}
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

let needed: ReplayNeeded
/** Starts with the losses that an earlier start kept in the data folder. */
const keepWhole = (engine: Clickhouse = clickhouse) => {
  const { data_dir } = clickhouse
  service = { ...service, registry: new Registry(), troubles: [] }
  needed = openReplayNeeded(data_dir, service)
  service.troubles.push(needed.troubles)
  return keepTablesWhole(engine, broker, { data_dir, disk, needed, part_check_pause_ms: 10 }, service)
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
  expect(troubles()).toMatchObject([{ code: 'events_lost' }])
})

test('lost events are told until a replay of the whole audit store has filled them', async () => {
  const path = await activePart('events_raw_v1')
  await clickhouse.reopen(async () => rmSync(path, { recursive: true }))
  await keepWhole()
  expect(troubles()).toHaveLength(1)
  needed.beginReplay()()
  expect(troubles()).toEqual([])
  await keepWhole()
  expect(troubles()).toEqual([])
})

test('lost events are told by the next start too when the process dies while it fills the tables', async () => {
  const path = await activePart('events_raw_v1')
  await clickhouse.reopen(async () => rmSync(path, { recursive: true }))
  const command: Clickhouse['command'] = async (sql, options) => {
    await clickhouse.command(sql, options)
    if (sql.startsWith('TRUNCATE TABLE event_keys_v1')) throw new Error('killed')
  }
  const dying = { ...clickhouse, command }
  await expect(keepWhole(dying)).rejects.toThrow('killed')
  expect(openReplayNeeded(clickhouse.data_dir, { registry: new Registry() }).troubles()).toMatchObject([
    { code: 'events_lost' },
  ])
})

test('a note that cannot be read counts as a loss', async () => {
  writeFileSync(join(clickhouse.data_dir, 'replay-needed.json'), '{')
  await keepWhole()
  expect(troubles()).toMatchObject([{ code: 'events_lost', fix: expect.stringContaining('--from-audit') }])
})

test('a broken part of the events of a backup is a loss, though nothing is compared', async () => {
  const path = await activePart('events_raw_v1')
  for (const file of readdirSync(path)) if (file !== 'data.bin') truncateSync(join(path, file), 0)
  await clickhouse.reopen()
  writeFileSync(join(clickhouse.data_dir, 'fill-tables-again'), '')
  await keepWhole()
  expect(troubles()).toMatchObject([{ code: 'events_lost', fix: expect.stringContaining('--from-audit') }])
})

test('a full disk delays the repair of lost events, and fails no start', async () => {
  const path = await activePart('events_raw_v1')
  await clickhouse.reopen(async () => rmSync(path, { recursive: true }))
  const note = join(clickhouse.data_dir, 'replay-needed.json')
  let noted_while_full = true
  disk.opened = async () => {
    noted_while_full = existsSync(note)
  }
  await keepWhole()
  expect([noted_while_full, existsSync(note)]).toEqual([false, true])
})
