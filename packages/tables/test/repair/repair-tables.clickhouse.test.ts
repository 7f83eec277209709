import { readdir, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { mutate } from '@tributary/clickhouse/mutate'
import { createPartCheck, findBrokenParts, reloadTable } from '@tributary/clickhouse/repair/broken-parts'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { markRawExpired } from '../../src/events/raw-expired.ts'
import { type RepairOptions, repairTables } from '../../src/repair/repair-tables.ts'

let clickhouse: TestClickhouse
let offset: number
beforeEach(async () => {
  clickhouse = await openTestClickhouse()
  offset = 0
})
afterEach(() => clickhouse.close())

const noon_ms = Date.UTC(2026, 5, 1, 12)
const day_ms = 24 * 3600 * 1000

/** Writes a batch of events over three days and two years, a third with money, and gives back the next offset. */
async function writeBatch(): Promise<number> {
  const rows = Array.from({ length: 30 }, (_, n) => {
    const money =
      n % 3 === 0 ? { revenue_micros: String(1000 * n), currency: 'EUR', transaction_key: `${offset + n + 1}` } : {}
    const ts_ms = noon_ms - (n % 3) * day_ms - (n % 2) * 366 * day_ms
    // Some corrected times are on the day before or after: raw events may have expired on one of the two days alone.
    const correction_ms = ((n % 5) - 2) * 7 * 3600 * 1000
    const of = { app_id: `app-${n % 2}`, install_uuid: `install-${n % 4}`, user_id: `user-${n}` }
    return testEventRow({ ...of, ts_ms, correction_ms, offset: offset + n, ...money })
  })
  await clickhouse.insertEvents(rows, `batch-${offset}`)
  offset += rows.length
  return offset
}

interface Part {
  table: string
  name: string
  path: string
}
const activeParts = (table: string) =>
  clickhouse.query<Part>(
    `SELECT table, name, path FROM system.parts WHERE active AND database = 'tributary' AND table = '${table}' ORDER BY name`,
  )

/** What a full disk does to a part: some files are there and empty. */
async function cutFiles({ path }: Part) {
  for (const name of await readdir(path)) if (name !== 'data.bin') await truncate(join(path, name), 0)
}

async function repair(goesOnAt = offset, fix: RepairOptions['fix'] = {}) {
  const steps: string[] = []
  const repaired = await repairTables({
    clickhouse,
    goesOn: [{ partition: 0, offset: goesOnAt }],
    fix,
    logger: { info: () => {}, error: () => {} },
    beforeRefill: async () => void steps.push('before'),
  })
  return { ...repaired, noted: steps.length > 0 }
}

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
    for (const n of [1, 2]) {
      const row = { app_id: `app-${n}`, day: new Date().toISOString().slice(0, 10), ...keys }
      const lines = JSON.stringify(Object.values(row))
      await clickhouse.insert({ table, columns: Object.keys(row), lines, token: `${n}` })
    }
    const [part] = await activeParts(table)
    await clickhouse.reopen(() => cutFiles(part!))
    const fixed: string[] = []
    const repaired = await repair(offset, { [table]: async () => void fixed.push(table) })
    expect(repaired).toMatchObject({ reread: [table], beyond: [], noted: true })
    expect([repaired.refilled.toSorted(), fixed]).toEqual([made, [table]])
    expect(await clickhouse.query(`SELECT DISTINCT app_id FROM ${made[0]}`)).toEqual([{ app_id: 'app-2' }])
    await repaired.closeParts()
    expect(await findBrokenParts(clickhouse)).toEqual([])
    expect(await readdir(join(part!.path, '..', 'detached'))).toEqual([expect.stringMatching(/^kept-on-start_/)])
    expect(await repair()).toMatchObject({ broken: [], reread: [], refilled: [], noted: false })
  })

  test('the log is read again for a part that was put aside, though the parts on both sides of it were merged', async () => {
    const insertClick = (n: number) => {
      const row = {
        app_id: `app-${n}`,
        day: new Date().toISOString().slice(0, 10),
        click_id: 'click',
        match_keys: ['1'],
      }
      const lines = JSON.stringify(Object.values(row))
      return clickhouse.insert({ table: 'clicks_raw_v1', columns: Object.keys(row), lines, token: `${n}` })
    }
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
        ...{ clickhouse, goesOn: [{ partition: 0, offset }], everything: true },
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
