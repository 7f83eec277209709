import type { Table } from '@tributary/contracts/table'
import { derivedNames, derivedOf, settledTables, type TableName, tableNames, tables } from '@tributary/contracts/tables'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readViewSources } from '../../src/schema/view-sources.ts'

let clickhouse: TestClickhouse
let columns: Map<string, string[]>
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
  const found = await clickhouse.query<{ table: string; name: string }>(
    `SELECT table, name FROM system.columns WHERE database = currentDatabase()
       AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine != 'MaterializedView')`,
  )
  columns = new Map(
    [...Map.groupBy(found, ({ table }) => table)].map(([table, of]) => [table, of.map(({ name }) => name)]),
  )
})
afterAll(() => clickhouse.close())

const declared = (name: TableName): Table => tables[name]

test('every table of the engine is declared, and every declared one is there', () => {
  expect(tableNames.toSorted()).toEqual([...columns.keys()].toSorted())
})

/** Names of columns that hold something of a person, wherever they stand. */
const looksPersonal =
  /install|user|agent|device|props|extra|audit|address|mail|phone|(^|_)ip($|_)|event_id|event_key|transaction_id|original_id|stated_id|receipt_hash|click_id|clicked|sub\d|match_key|^fact$|^click$|^decision$|^idempotency_key$|^answer$/

test('every column that looks personal is declared as such, and every declared one is there', () => {
  for (const table of tableNames) {
    const { personal } = declared(table)
    const there = columns.get(table)!
    // A settled figure is a number of installs or a sum.
    const looking = settledTables.includes(table) ? [] : there.filter((name) => looksPersonal.test(name))
    expect({ table, personal: personal.toSorted() }).toEqual({ table, personal: looking.toSorted() })
  }
})

test('every table that a view fills is declared with what the view reads and all that it fills', async () => {
  const views = await readViewSources(clickhouse)
  expect(derivedNames.toSorted()).toEqual([...views.keys()].toSorted())
  for (const table of derivedNames) {
    const { from, day = 'day', groups, values = {}, sums = {}, known_by } = derivedOf(table)
    expect({ table, from }).toEqual({ table, from: views.get(table)!.source })
    const compared = [...Object.keys(groups), ...Object.keys(values), ...Object.keys(sums)]
    // The clock of ClickHouse: no brute force knows it.
    const there = columns.get(table)!.filter((name) => name !== 'written_at_ms')
    expect({ table, columns: compared.toSorted() }).toEqual({ table, columns: there.toSorted() })
    if (known_by === 'counted') expect(there).toContain(day)
  }
})

test('every table has a writer, and what is made anew by a sweep is made from a table', () => {
  for (const table of tableNames) {
    const { writers, swept_from, derived } = declared(table)
    expect(writers, table).not.toEqual([])
    if (swept_from !== undefined) expect([columns.has(swept_from), derived]).toEqual([true, undefined])
  }
})
