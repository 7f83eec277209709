import { readdir, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterEach, beforeEach } from 'vitest'
import { type RepairOptions, repairTables } from '../../src/repair/repair-tables.ts'

export interface Part {
  table: string
  name: string
  path: string
}

const noon_ms = Date.UTC(2026, 5, 1, 12)
const day_ms = 24 * 3600 * 1000

/** An engine for each test of a file, and what fills, damages and repairs its tables. */
export function damagedTables() {
  const stage = {} as { clickhouse: TestClickhouse; offset: number }
  beforeEach(async () => {
    stage.clickhouse = await openTestClickhouse()
    stage.offset = 0
  })
  afterEach(() => stage.clickhouse.close())

  /** Writes a batch of events over three days and two years, a third with money, and gives back the next offset. */
  async function writeBatch(): Promise<number> {
    const { offset } = stage
    const rows = Array.from({ length: 30 }, (_, n) => {
      const money =
        n % 3 === 0 ? { revenue_micros: String(1000 * n), currency: 'EUR', transaction_key: `${offset + n + 1}` } : {}
      const ts_ms = noon_ms - (n % 3) * day_ms - (n % 2) * 366 * day_ms
      // Some corrected times are on the day before or after: raw events may have expired on one of the two days alone.
      const correction_ms = ((n % 5) - 2) * 7 * 3600 * 1000
      const of = { app_id: `app-${n % 2}`, install_uuid: `install-${n % 4}`, user_id: `user-${n}` }
      return testEventRow({ ...of, ts_ms, correction_ms, offset: offset + n, ...money })
    })
    await stage.clickhouse.insertEvents(rows, `batch-${offset}`)
    stage.offset += rows.length
    return stage.offset
  }

  /** Inserts a row of today of the app `app-<n>`, with a token that only the same number has. */
  async function insertRow(table: string, n: number, columns: object): Promise<void> {
    const row = { app_id: `app-${n}`, day: new Date().toISOString().slice(0, 10), ...columns }
    const lines = JSON.stringify(Object.values(row))
    await stage.clickhouse.insert({ table, columns: Object.keys(row), lines, token: `${n}` })
  }

  const activeParts = (table: string) =>
    stage.clickhouse.query<Part>(
      `SELECT table, name, path FROM system.parts WHERE active AND database = 'tributary' AND table = '${table}' ORDER BY name`,
    )

  async function repair(goesOnAt = stage.offset, fix: RepairOptions['fix'] = {}) {
    const steps: string[] = []
    const repaired = await repairTables({
      clickhouse: stage.clickhouse,
      goesOn: [{ partition: 0, offset: goesOnAt }],
      fix,
      logger: { info: () => {}, error: () => {} },
      beforeRefill: async () => void steps.push('before'),
    })
    return { ...repaired, noted: steps.length > 0 }
  }

  return { stage, writeBatch, insertRow, activeParts, repair }
}

/** Cuts a part as a full disk does: some files are there and empty. */
export async function cutFiles({ path }: Part): Promise<void> {
  for (const name of await readdir(path)) if (name !== 'data.bin') await truncate(join(path, name), 0)
}
