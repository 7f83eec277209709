import { readdirSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import type { Broker } from '@tributary/broker/broker'
import type { Service } from '@tributary/service-kit/run-service'
import { openTestClickhouse, testEventRow } from '@tributary/testkit/test-clickhouse'
import pino from 'pino'
import { Registry } from 'prom-client'
import { expect, test, vi } from 'vitest'
import { keepTablesWhole } from '../src/whole-tables.ts'

const openDisk = { open: () => true, opened: async () => {} }
const broker = { groupOffsets: async () => [] } as unknown as Broker

test('a merged part that a full disk cut off goes out of use by itself, and nothing of its rows is lost', async () => {
  const clickhouse = await openTestClickhouse()
  const closes: (() => Promise<void>)[] = []
  const service: Service = {
    ...{ name: 'test', logger: pino({ level: 'silent' }), registry: new Registry(), now: Date.now },
    ...{ onClose: (_what, close) => closes.push(close), checks: {}, troubles: [] },
  }
  const ts_ms = Date.UTC(2026, 5, 1)
  for (const n of [1, 2, 3]) await clickhouse.insertEvents([testEventRow({ app_id: 'a', ts_ms, offset: n })], `t-${n}`)
  const before = await clickhouse.readEventTables()
  const options = { data_dir: clickhouse.data_dir, disk: openDisk, part_check_pause_ms: 10 }
  const tables = await keepTablesWhole(clickhouse, broker, options, service)
  expect(tables.reread).toBe(false)

  await clickhouse.command('OPTIMIZE TABLE event_keys_v1 FINAL')
  const [part] = await clickhouse.query<{ path: string }>(
    `SELECT path FROM system.parts WHERE active AND database = 'tributary' AND table = 'event_keys_v1'`,
  )
  const { path } = part!
  for (const file of readdirSync(path)) if (file !== 'data.bin') truncateSync(join(path, file), 0)
  await vi.waitFor(async () => {
    expect(await service.registry.metrics()).toContain('tributary_broken_parts_total{table="event_keys_v1"} 1')
    expect(await clickhouse.readEventTables()).toEqual(before)
    expect(await clickhouse.query(`SELECT 1 FROM system.parts WHERE active AND path = '${path}'`)).toEqual([])
  }, 20_000)
  expect(service.troubles.flatMap((look) => look())).toEqual([])

  for (const close of closes) await close()
  await clickhouse.close()
})
