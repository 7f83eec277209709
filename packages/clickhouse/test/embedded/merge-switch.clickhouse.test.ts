import { openTestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { expect, test } from 'vitest'
import { createMergeSwitch } from '../../src/embedded/merge-switch.ts'

test('no part is merged while merges are off, and all are again afterwards', async () => {
  const clickhouse = await openTestClickhouse({ migrated: false })
  await clickhouse.command('CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a')
  const merges = createMergeSwitch(clickhouse)
  await merges.set(false)
  for (const a of [1, 2]) await clickhouse.insert({ table: 't', columns: ['a'], lines: `[${a}]`, token: `${a}` })
  await expect(clickhouse.command('OPTIMIZE TABLE t FINAL')).rejects.toThrow()
  const parts = () => clickhouse.query(`SELECT name FROM system.parts WHERE active AND table = 't'`)
  expect(await parts()).toHaveLength(2)
  await merges.set(true)
  await clickhouse.command('OPTIMIZE TABLE t FINAL')
  expect(await parts()).toHaveLength(1)
  await clickhouse.close()
})
