import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { mutate } from '@tributary/clickhouse/mutate'
import { findBrokenParts } from '@tributary/clickhouse/repair/broken-parts'
import type { TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { beforeEach, describe, expect, test } from 'vitest'
import { markRawExpired } from '../../src/events/raw-expired.ts'
import { repairTables } from '../../src/repair/repair-tables.ts'
import { cutFiles, damagedTables } from './damaged-tables.ts'

const { stage, writeBatch, insertRow, activeParts, repair } = damagedTables()
let clickhouse: TestClickhouse
beforeEach(() => {
  ;({ clickhouse } = stage)
})

const insertClick = (n: number) => insertRow('clicks_raw_v1', n, { click_id: 'click', match_keys: ['1'] })

describe('at the start', () => {
  test('tables that lack nothing are left alone', async () => {
    expect(await repair()).toMatchObject({ broken: [], refilled: [], lost_events: 0, noted: false })
    await writeBatch()
    expect(await repair()).toMatchObject({ broken: [], refilled: [], lost_events: 0, noted: false })
  })

  // Several at once, each of which is compared: an engine and its three batches cost more than the repair.
  test.each([
    ['event_keys_v1', 'event_installs_per_day_v1', 'revenue_raw_v1', 'identities_v1'],
    ['events_per_day_v1', 'activity_by_day_v1', 'transaction_keys_v1', 'events_received_per_day_v1'],
  ])(
    'broken parts of %s, %s, %s and %s are filled again from the events, and every table is as before',
    async (...tables) => {
      for (let n = 0; n < 3; n += 1) await writeBatch()
      const before = await clickhouse.readEventTables()
      const parts = await Promise.all(tables.map(async (table) => (await activeParts(table))[0]!))
      await clickhouse.reopen(async () => void (await Promise.all(parts.map(cutFiles))))
      const repaired = await repair()
      const broken = repaired.broken.toSorted((a, b) => tables.indexOf(a.table) - tables.indexOf(b.table))
      expect(broken).toMatchObject(tables.map((table) => ({ table })))
      expect(repaired.refilled).toEqual(expect.arrayContaining(tables))
      expect([repaired.noted, repaired.lost_events, repaired.beyond]).toEqual([true, 0, []])
      expect(await clickhouse.readEventTables()).toEqual(before)
      await repaired.closeParts()
      expect(await repair()).toMatchObject({ broken: [], refilled: [] })
    },
  )

  test.each(['report_stamps_v1', 'revenue_raw_v1'])(
    'no figure stays settled after a broken part of %s, and each day has a stamp to be settled by',
    async (table) => {
      await writeBatch()
      await clickhouse.command("INSERT INTO settled_installs_v1 (app_id, stamp) VALUES ('a', 1)")
      const stamped = 'SELECT DISTINCT app_id, source, day FROM report_stamps_v1 WHERE rows > 0 ORDER BY ALL'
      const before = await clickhouse.query(stamped)
      const [part] = await activeParts(table)
      await clickhouse.reopen(() => cutFiles(part!))
      const repaired = await repair()
      expect([repaired.reread, repaired.beyond]).toEqual([[], []])
      expect(await clickhouse.query('SELECT app_id FROM settled_installs_v1')).toEqual([])
      expect(before.length).toBeGreaterThan(0)
      expect(await clickhouse.query(stamped)).toEqual(before)
      await repaired.closeParts()
    },
  )

  test('claims that are filled again are settled anew: nothing stays cancelled by what they were before', async () => {
    await writeBatch()
    await clickhouse.command(
      'INSERT INTO revenue_cancelled_v1 (app_id, transaction_key) SELECT app_id, transaction_key FROM revenue_raw_v1',
    )
    const [part] = await activeParts('transaction_keys_v1')
    await clickhouse.reopen(() => cutFiles(part!))
    expect((await repair()).refilled).toContain('transaction_keys_v1')
    expect(await clickhouse.query('SELECT app_id FROM revenue_cancelled_v1')).toEqual([])
  })

  test('what receipts decide on stays cancelled when claims are filled again', async () => {
    await writeBatch()
    const place = 'app_id, day, install_uuid, event_key, topic, partition, offset'
    await clickhouse.command(
      `INSERT INTO revenue_chosen_v1 (${place}, counts, version) SELECT ${place}, 0, 1 FROM revenue_raw_v1 WHERE offset = 3`,
    )
    const [part] = await activeParts('transaction_keys_v1')
    await clickhouse.reopen(() => cutFiles(part!))
    expect((await repair()).refilled).toContain('transaction_keys_v1')
    expect(await clickhouse.query('SELECT offset FROM revenue_cancelled_v1')).toEqual([{ offset: 3 }])
  })

  test('lost events are counted, and the other tables hold what events_raw_v1 still has', async () => {
    for (let n = 0; n < 3; n += 1) await writeBatch()
    const [part] = await activeParts('events_raw_v1')
    await clickhouse.reopen(() => rm(part!.path, { recursive: true }))
    const lost = await repair()
    expect(lost.lost_events).toBeGreaterThan(0)
    expect(lost.refilled.toSorted()).toEqual([
      'event_keys_v1',
      'events_per_day_v1',
      'events_received_per_day_v1',
      'money_days_v1',
      'revenue_raw_v1',
      'transaction_claims_v1',
      'transaction_keys_v1',
    ])
    expect(await repair()).toMatchObject({ refilled: [], lost_events: 0 })
  })

  test.each([
    { table: 'clicks_raw_v1', made: ['click_keys_v1'], keys: { click_id: 'click', match_keys: ['1'] } },
    { table: 'install_facts_v1', made: ['install_fact_keys_v1'], keys: { match_keys: ['1'], fact: '{}' } },
    {
      table: 'installs_v1',
      made: [
        'install_claims_v1',
        'installs_by_day_v1',
        'installs_by_dimensions_v1',
        'installs_by_key_v1',
        'installs_pending_v1',
      ],
      keys: { click_id: 'click' },
    },
  ])('a broken part of $table has the log read again, and what its views fill is what is left of it', async (given) => {
    const { table, made, keys } = given
    for (const n of [1, 2]) await insertRow(table, n, keys)
    const [part] = await activeParts(table)
    await clickhouse.reopen(() => cutFiles(part!))
    const fixed: string[] = []
    const repaired = await repair(stage.offset, { [table]: async () => void fixed.push(table) })
    expect(repaired).toMatchObject({ reread: [table], beyond: [], noted: true })
    expect([repaired.refilled.toSorted(), fixed]).toEqual([made, [table]])
    expect(await clickhouse.query(`SELECT DISTINCT app_id FROM ${made[0]}`)).toEqual([{ app_id: 'app-2' }])
    await repaired.closeParts()
    expect(await findBrokenParts(clickhouse)).toEqual([])
    expect(await readdir(join(part!.path, '..', 'detached'))).toEqual([expect.stringMatching(/^kept-on-start_/)])
    expect(await repair()).toMatchObject({ broken: [], reread: [], refilled: [], noted: false })
  })

  test('the log is read again for a part that was put aside, though the parts on both sides of it were merged', async () => {
    for (const n of [1, 2, 3]) await insertClick(n)
    const parts = await activeParts('clicks_raw_v1')
    expect(parts).toHaveLength(3)
    await clickhouse.reopen(() => cutFiles(parts[1]!))
    await clickhouse.command('OPTIMIZE TABLE clicks_raw_v1 FINAL')
    await clickhouse.reopen()
    const repaired = await repair()
    expect(repaired.reread).toEqual(['clicks_raw_v1'])
    await insertClick(2)
    expect(await clickhouse.query('SELECT app_id FROM clicks_raw_v1 ORDER BY app_id')).toEqual(
      ['app-1', 'app-2', 'app-3'].map((app_id) => ({ app_id })),
    )
    await repaired.closeParts()
    expect(await findBrokenParts(clickhouse)).toEqual([])
  })

  test('a cut part is nothing to repair, at this start or the next, when a whole one was made of it before', async () => {
    for (const n of [1, 2]) {
      const row = {
        app_id: `app-${n}`,
        day: new Date().toISOString().slice(0, 10),
        click_id: 'click',
        match_keys: ['1'],
      }
      const lines = JSON.stringify(Object.values(row))
      await clickhouse.insert({ table: 'clicks_raw_v1', columns: Object.keys(row), lines, token: `${n}` })
    }
    const parts = await activeParts('clicks_raw_v1')
    await clickhouse.command('OPTIMIZE TABLE clicks_raw_v1 FINAL')
    await clickhouse.reopen(async () => void (await Promise.all(parts.map(cutFiles))))
    expect(await repair()).toMatchObject({ broken: [], reread: [] })
    await clickhouse.command('SYSTEM WAIT LOADING PARTS clicks_raw_v1')
    await clickhouse.reopen()
    expect(await repair()).toMatchObject({ broken: [], reread: [] })
  })

  test('a broken part of a table that nothing fills is named and kept', async () => {
    await clickhouse.command('CREATE TABLE other (a UInt8) ENGINE = MergeTree ORDER BY a')
    await clickhouse.insert({ table: 'other', columns: ['a'], lines: '[1]', token: 'first' })
    const [part] = await activeParts('other')
    await clickhouse.reopen(() => cutFiles(part!))
    const repaired = await repair()
    expect(repaired.beyond).toEqual(['other'])
    await repaired.closeParts()
    expect(await findBrokenParts(clickhouse)).toEqual([])
    expect(await readdir(join(part!.path, '..', 'detached'))).toEqual([
      expect.stringMatching(/^kept-on-start_all_1_1_0_[0-9a-z]+$/),
    ])
  })

  test('a batch that a kill broke off between two tables is left to its repetition', async () => {
    const goesOnAt = await writeBatch()
    await clickhouse.command('DETACH TABLE event_keys_mv_v1')
    await writeBatch()
    await clickhouse.command('ATTACH TABLE event_keys_mv_v1')
    expect(await repair(goesOnAt)).toMatchObject({ refilled: [], noted: false })
    expect(await repair()).toMatchObject({ refilled: ['event_keys_v1'], noted: true })
  })
})

describe('when raw events of an app have expired', () => {
  /** The app has raw events of the newest day alone, and the other app has all. */
  async function expire() {
    await writeBatch()
    const before = await clickhouse.readEventTables()
    await markRawExpired(clickhouse, new Map([['app-0', '2026-06-01']]))
    const { signal } = new AbortController()
    const where = "app_id = 'app-0' AND day < '2026-06-01'"
    expect(await mutate(clickhouse, { table: 'events_raw_v1', action: 'DELETE', where, signal })).toBeGreaterThan(0)
    expect(await mutate(clickhouse, { table: 'events_raw_v1', action: 'DELETE', where, signal })).toBe(0)
    return { ...before, events_raw_v1: (await clickhouse.readEventTables()).events_raw_v1 }
  }

  test('every table keeps the sums of expired days when it is filled again, once or twice', async () => {
    const before = await expire()
    expect(await repair()).toMatchObject({ refilled: [], lost_events: 0, noted: false })
    for (const _time of [1, 2]) {
      await repairTables({
        ...{ clickhouse, goesOn: [{ partition: 0, offset: stage.offset }], everything: true },
        ...{ logger: { info: () => {}, error: () => {} }, beforeRefill: async () => {} },
      })
      expect(await clickhouse.readEventTables()).toEqual(before)
    }
    expect(await repair()).toMatchObject({ refilled: [], lost_events: 0 })
  })

  test('a broken part with sums of expired days is named and kept: nothing fills them again', async () => {
    await expire()
    const parts = await activeParts('events_per_day_v1')
    await clickhouse.reopen(async () => void (await Promise.all(parts.map(cutFiles))))
    const repaired = await repair()
    expect(repaired.beyond).toEqual(['events_per_day_v1'])
    await repaired.closeParts()
    const kept = await readdir(join(parts[0]!.path, '..', 'detached'))
    expect(kept.filter((name) => name.startsWith('kept-on-start_'))).toHaveLength(parts.length)
  })

  test('a day that has not expired is filled again from its events', async () => {
    const before = await expire()
    await clickhouse.command(
      "ALTER TABLE events_per_day_v1 DELETE WHERE day = '2026-06-01' SETTINGS mutations_sync = 1",
    )
    expect((await repair()).refilled).toEqual(['events_per_day_v1'])
    expect(await clickhouse.readEventTables()).toEqual(before)
  })
})
