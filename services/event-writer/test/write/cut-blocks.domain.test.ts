import type { LogRecord } from '@tributary/broker/broker'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Block, block_bytes_max, block_rows_max, cutBlocks, halveBlock } from '../../src/write/cut-blocks.ts'
import type { EventLine } from '../../src/write/event-line.ts'

const nothing = Buffer.alloc(0)

/** Rows of records in the order of the log; `bytes` is the size of each row. */
function rowsOf(records: readonly { rows: number; bytes: number }[]): EventLine[] {
  return records.flatMap(({ rows, bytes }, offset) => {
    const record = { partition: 0, offset } as LogRecord
    const row = {
      ...{ record, app_id: 'app_1', install_uuid: 'i', dated_at_ms: 0, day: '2012-01-01', key_day: '', event_key: '1' },
      ...{ transaction_key: '0', claim_rank: 1, received_at_ms: 0, revenue_counts: 0 as const },
    }
    return Array.from({ length: rows }, () => ({ ...row, bytes: nothing, from: 0, to: bytes }))
  })
}

const records = fc.array(
  fc.record({
    rows: fc.integer({ min: 1, max: 5 }),
    bytes: fc.constantFrom(100, block_bytes_max / 3, block_bytes_max),
  }),
  { maxLength: 12 },
)

const recordsOf = ({ rows }: Block) => new Set(rows.map(({ record }) => record.offset))

test('blocks hold every row once, in the order of the log, and divide no record', () => {
  fc.assert(
    fc.property(records, (given) => {
      const rows = rowsOf(given)
      const blocks = cutBlocks(rows)
      expect(blocks.flatMap((block) => block.rows)).toEqual(rows)
      const offsets = blocks.flatMap((block) => [...recordsOf(block)])
      expect(new Set(offsets).size).toBe(offsets.length)
      for (const block of blocks) {
        const bytes = block.rows.reduce((sum, { from, to }) => sum + to - from, 0)
        expect(bytes <= block_bytes_max || recordsOf(block).size === 1).toBe(true)
      }
      expect(new Set(blocks.map(({ name }) => name)).size).toBe(blocks.length)
      expect(cutBlocks(rows).map(({ name }) => name)).toEqual(blocks.map(({ name }) => name))
    }),
  )
})

test('a block has no more rows than its bound, but for a record that has more alone', () => {
  const many = { rows: block_rows_max + 1, bytes: 1 }
  const few = { rows: 1, bytes: 1 }
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
