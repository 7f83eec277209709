import type { LogRecord } from '@tributary/broker/broker'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Block, block_bytes_max, block_rows_max, cutBlocks, halveBlock } from '../../src/write/cut-blocks.ts'
import type { EventLine } from '../../src/write/event-line.ts'

const nothing = Buffer.alloc(0)

/** Rows of records in the order of the log; `bytes` is the size of each row. */
function rowsOf(records: readonly { years: readonly number[]; bytes: number }[]): EventLine[] {
  return records.flatMap(({ years, bytes }, offset) => {
    const record = { partition: 0, offset } as LogRecord
    const key = {
      app_id: 'app_1',
      install_uuid: 'i',
      dated_at_ms: 0,
      key_day: '',
      event_key: '1',
      transaction_key: '0',
      claim_rank: 1,
      received_at_ms: 0,
      revenue_counts: 0 as const,
    }
    return years.map((year) => ({ ...key, record, day: `${year}-01-01`, bytes: nothing, from: 0, to: bytes }))
  })
}

const records = fc.array(
  fc.record({
    years: fc.array(fc.integer({ min: 2010, max: 2013 }), { minLength: 1, maxLength: 5 }),
    bytes: fc.constantFrom(100, block_bytes_max / 3, block_bytes_max),
  }),
  { maxLength: 12 },
)

const recordsOf = ({ rows }: Block) => new Set(rows.map(({ record }) => record.offset))

test('blocks hold every row once, of one year each, and a record of a year is in one of them', () => {
  fc.assert(
    fc.property(records, (given) => {
      const rows = rowsOf(given)
      const blocks = cutBlocks(rows)
      expect(blocks.flatMap((block) => block.rows)).toHaveLength(rows.length)
      expect(new Set(blocks.flatMap((block) => block.rows)).size).toBe(rows.length)
      const seen = new Set<string>()
      for (const block of blocks) {
        expect(new Set(block.rows.map(({ day }) => day)).size).toBe(1)
        for (const offset of recordsOf(block)) {
          const place = `${block.rows[0]!.day}/${offset}`
          expect(seen.has(place)).toBe(false)
          seen.add(place)
        }
        const bytes = block.rows.reduce((sum, { from, to }) => sum + to - from, 0)
        expect(bytes <= block_bytes_max || recordsOf(block).size === 1).toBe(true)
      }
      expect(new Set(blocks.map(({ name }) => name)).size).toBe(blocks.length)
      expect(cutBlocks(rows).map(({ name }) => name)).toEqual(blocks.map(({ name }) => name))
    }),
  )
})

test('a block has no more rows than its bound, but for a record that has more alone', () => {
  const many = { years: Array<number>(block_rows_max + 1).fill(2012), bytes: 1 }
  const few = { years: [2012], bytes: 1 }
  expect(cutBlocks(rowsOf([few, many, few, few])).map((block) => block.rows.length)).toEqual([1, block_rows_max + 1, 2])
})

test('halves of a block hold whole records, and a record alone has none', () => {
  fc.assert(
    fc.property(records, (given) => {
      for (const block of cutBlocks(rowsOf(given))) {
        const halves = halveBlock(block)
        expect(halves === null).toBe(recordsOf(block).size === 1)
        if (halves === null) continue
        expect(halves.flatMap(({ rows }) => rows)).toEqual(block.rows)
        const [first, second] = halves.map(recordsOf)
        expect([...first!].filter((offset) => second!.has(offset))).toEqual([])
      }
    }),
  )
})
