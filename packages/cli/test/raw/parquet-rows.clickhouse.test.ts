import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { openTestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { expect, onTestFinished, test } from 'vitest'
import { countParquetRows } from '../../src/raw/parquet-rows.ts'

test('the rows of a Parquet file of the engine are counted by its footer, and a file that is cut off is refused', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'tributary-parquet-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  const clickhouse = await openTestClickhouse({ migrated: false })
  onTestFinished(() => clickhouse.close())
  const path = join(dir, 'file.parquet')
  for (const rows of [0, 1, 70_000]) {
    const sql = `SELECT number, toString(number) AS text, ['a'] AS list, toNullable(number) AS maybe, toDate(0) AS day FROM numbers(${rows})`
    const signal = new AbortController().signal
    const file = await buffer(await clickhouse.stream(sql, { format: 'Parquet', signal }))
    await writeFile(path, file)
    expect(await countParquetRows(path)).toBe(rows)
    await writeFile(path, file.subarray(0, -1))
    await expect(countParquetRows(path)).rejects.toMatchObject({ code: 'unavailable' })
  }
})
