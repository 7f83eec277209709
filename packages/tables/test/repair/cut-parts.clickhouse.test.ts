import { truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { createPartCheck, findBrokenParts, reloadTable } from '@tributary/clickhouse/repair/broken-parts'
import type { TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { beforeEach, describe, expect, test } from 'vitest'
import { cutFiles, damagedTables } from './damaged-tables.ts'

const { stage, writeBatch, activeParts, repair } = damagedTables()
let clickhouse: TestClickhouse
beforeEach(() => {
  ;({ clickhouse } = stage)
})

describe('a merged part whose files were cut off', () => {
  test('is found while the parts that it was merged from are there, and they come back with all rows', async () => {
    const findCutParts = createPartCheck(clickhouse)
    await writeBatch()
    await writeBatch()
    expect(await findCutParts()).toEqual([])
    const before = await clickhouse.readEventTables()
    await clickhouse.command('OPTIMIZE TABLE event_keys_v1 FINAL')
    const [merged] = await activeParts('event_keys_v1')
    await cutFiles(merged!)
    expect(await findCutParts()).toMatchObject([{ name: merged!.name, restorable: true }])
    await reloadTable(clickhouse, 'event_keys_v1')
    expect(await clickhouse.readEventTables()).toEqual(before)
    expect(await findCutParts()).toEqual([])
    expect(await findBrokenParts(clickhouse)).toEqual([])
    expect(await repair()).toMatchObject({ broken: [], refilled: [], lost_events: 0, beyond: [], noted: false })
    await writeBatch()
    expect(await repair()).toMatchObject({ broken: [], refilled: [], lost_events: 0 })
  })
})

test('a merged part is not taken out of use when one that it was merged from was cut off, too', async () => {
  await writeBatch()
  await writeBatch()
  const [first] = await activeParts('event_keys_v1')
  await clickhouse.command('OPTIMIZE TABLE event_keys_v1 FINAL')
  const [merged] = await activeParts('event_keys_v1')
  await cutFiles(first!)
  await cutFiles(merged!)
  expect(await createPartCheck(clickhouse)()).toMatchObject([{ name: merged!.name, restorable: false }])
})

test('a cut part that was merged from nothing is found as well, and known to be beyond help while the engine runs', async () => {
  const findCutParts = createPartCheck(clickhouse)
  await writeBatch()
  const [part] = await activeParts('events_raw_v1')
  await cutFiles(part!)
  expect(await findCutParts()).toMatchObject([{ name: part!.name, restorable: false }])
})

test('a part whose codec is not on the disk is whole: the engine finds the codec out', async () => {
  await writeBatch()
  const [part] = await activeParts('events_raw_v1')
  await clickhouse.reopen(() => truncate(join(part!.path, 'default_compression_codec.txt')))
  expect(await createPartCheck(clickhouse)()).toEqual([])
  expect(await findBrokenParts(clickhouse)).toEqual([])
  expect(await activeParts('events_raw_v1')).toMatchObject([{ name: part!.name }])
})

test('parts with a file for each column, of altered and of mutated tables are whole', async () => {
  const findCutParts = createPartCheck(clickhouse)
  const settings = 'min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0'
  await clickhouse.command(`CREATE TABLE wide (a UInt8, b String) ENGINE = MergeTree ORDER BY a SETTINGS ${settings}`)
  await clickhouse.command(`INSERT INTO wide SELECT number, '' FROM numbers(1000)`)
  await clickhouse.command('ALTER TABLE wide ADD COLUMN c UInt8 DEFAULT 7')
  await clickhouse.command('ALTER TABLE wide UPDATE b = toString(a) WHERE a > 9 SETTINGS mutations_sync = 2')
  await clickhouse.command('DELETE FROM wide WHERE a = 3 SETTINGS lightweight_deletes_sync = 2')
  expect(await findCutParts()).toEqual([])
  const [part] = await activeParts('wide')
  await truncate(join(part!.path, 'b.bin'), 1)
  expect(await createPartCheck(clickhouse)()).toMatchObject([{ table: 'wide' }])
})

test('parts that were merged are kept for longer than the check of the merged one may take', async () => {
  const [kept] = await clickhouse.query(
    `SELECT toUInt32(value) AS seconds FROM system.merge_tree_settings WHERE name = 'old_parts_lifetime'`,
  )
  expect(kept).toEqual({ seconds: 300 })
})
