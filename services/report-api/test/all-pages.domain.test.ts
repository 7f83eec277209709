import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { allPages } from '../src/answers/all-pages.ts'
import type { ReportPage } from '../src/parameters.ts'

interface Row {
  day: string
  event_name: string
  events: number
}

const dayOf = (n: number) => new Date(Date.UTC(2026, 0, 1 + n)).toISOString().slice(0, 10)
const keyOf = ({ day, event_name }: Row) => `${day} ${event_name}`
const page: ReportPage = { since_ms: Date.UTC(2026, 0, 1), until_ms: Date.UTC(2026, 0, 20), limit: 100, offset: 0 }

/** Rows by key; a write is a new row, or one more event of a row that is there. */
class Table {
  readonly rows = new Map<string, Row>()
  constructor(writes: readonly Write[]) {
    for (const write of writes) this.write(write)
  }
  write({ n, name }: Write): void {
    const row = { day: dayOf(n), event_name: name, events: 1 }
    const known = this.rows.get(keyOf(row))
    this.rows.set(keyOf(row), known === undefined ? row : { ...known, events: known.events + 1 })
  }
  ask({ since_ms, limit, offset }: ReportPage): Row[] {
    const inWindow = [...this.rows.values()].filter(({ day }) => Date.parse(day) >= since_ms)
    return inWindow.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)).slice(offset, offset + limit)
  }
}
interface Write {
  n: number
  name: string
}
const write = fc.record({ n: fc.nat(6), name: fc.constantFrom(...'abcdefghi') })
const writes = (maxLength: number) => fc.array(write, { maxLength })

async function readAll(table: Table, page_rows: number, from: ReportPage, meanwhile: (turn: number) => void) {
  let turn = 0
  const ask = async (asked: ReportPage) => {
    const rows = table.ask(asked)
    meanwhile(turn++)
    return { rows }
  }
  const pages: Row[][] = []
  for await (const { rows } of allPages(ask, from, page_rows)) pages.push([...rows] as Row[])
  return pages.flat()
}

test('the pages of a table at rest are all its rows from the offset on, in order, whatever the size of a page', async () => {
  await fc.assert(
    fc.asyncProperty(writes(60), fc.integer({ min: 2, max: 12 }), fc.nat(20), async (all, page_rows, offset) => {
      const table = new Table(all)
      const expected = table.ask({ ...page, limit: 1e6, offset })
      expect(await readAll(table, page_rows, { ...page, offset }, () => {})).toEqual(expected)
    }),
    { numRuns: 500 },
  )
})

test('writes between the pages double no row, lose no row, and tear no period that fits into a page', async () => {
  const meanwhiles = fc.array(writes(6), { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(writes(60), meanwhiles, async (all, between) => {
      const table = new Table(all)
      const page_rows = 10 // more than the 9 names of a day
      const before = table.ask({ ...page, limit: 1e6 })
      const moments: Row[][] = [before]
      const rows = await readAll(table, page_rows, page, (turn) => {
        for (const one of between[turn] ?? []) table.write(one)
        moments.push(table.ask({ ...page, limit: 1e6 }))
      })
      const keys = rows.map(keyOf)
      expect(keys).toEqual([...new Set(keys)].toSorted())
      expect(keys).toEqual(expect.arrayContaining(before.map(keyOf)))
      const ofDay = (list: readonly Row[], day: string) => list.filter((row) => row.day === day)
      for (const day of new Set(rows.map((row) => row.day))) {
        expect(moments.map((moment) => ofDay(moment, day))).toContainEqual(ofDay(rows, day))
      }
    }),
    { numRuns: 500 },
  )
})

test('a period of more rows than a page keeps its order under writes, and ends the reading when its rows are gone', async () => {
  const names = Array.from({ length: 40 }, (_, n) => `m${String(n).padStart(2, '0')}`)
  const table = new Table(names.map((name) => ({ n: 0, name })))
  const keys = (await readAll(table, 10, page, (turn) => table.write({ n: 0, name: `a${turn}` }))).map(keyOf)
  expect(keys).toEqual(names.map((name) => `${dayOf(0)} ${name}`))
  const reading = readAll(table, 10, page, () => table.rows.clear())
  await expect(reading).rejects.toMatchObject({ code: 'unavailable' })
})

test('rows of a large period that differ in their sequence index alone come once, also when writes move them', async () => {
  const rowOf = (network: string, sequence_index: number) => ({ day: dayOf(0), network, sequence_index, postbacks: 1 })
  const before = Array.from({ length: 30 }, (_, n) => rowOf(`m${n}`.padEnd(3, 'x'), 0)).flatMap((row) =>
    [0, 1, 2].map((sequence_index) => ({ ...row, sequence_index })),
  )
  const rows = [...before]
  const ask = async ({ limit, offset }: ReportPage) => {
    const page_rows = rows.slice(offset, offset + limit)
    rows.unshift(rowOf(`a${rows.length}`, 0))
    return { rows: page_rows }
  }
  const read: object[] = []
  for await (const one of allPages(ask, page, 10)) read.push(...one.rows)
  expect(read).toEqual(before)
})
