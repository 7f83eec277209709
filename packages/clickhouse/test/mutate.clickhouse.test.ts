import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { mutate } from '../src/mutate.ts'

let clickhouse: TestClickhouse
beforeEach(async () => {
  clickhouse = await openTestClickhouse({ migrated: false })
  await clickhouse.command('CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a')
  await clickhouse.insert({ table: 't', columns: ['a'], lines: '[1]\n[2]', token: 'first' })
})
afterEach(() => clickhouse.close())

test('is not over while its table is detached', async () => {
  let looks = 0
  let is_over = false
  const looking = {
    ...clickhouse,
    query: (sql: string) => {
      looks += 1
      return clickhouse.query<never>(sql)
    },
  }
  await clickhouse.command('SYSTEM STOP MERGES')
  const { signal } = new AbortController()
  const deleting = mutate(looking, { table: 't', action: 'DELETE', where: 'a = 1', signal }).finally(() => {
    is_over = true
  })
  await vi.waitFor(() => expect(looks).toBeGreaterThan(2))
  await clickhouse.command('DETACH TABLE t')
  const before = looks
  await vi.waitFor(() => expect(is_over || looks > before + 3).toBe(true))
  expect(is_over).toBe(false)
  await clickhouse.command('ATTACH TABLE t')
  await clickhouse.command('SYSTEM START MERGES')
  expect(await deleting).toBe(1)
  expect(await clickhouse.query('SELECT a FROM t')).toEqual([{ a: 2 }])
})

test('rejects when somebody kills it', async () => {
  await clickhouse.command('SYSTEM STOP MERGES')
  const { signal } = new AbortController()
  const deleting = expect(mutate(clickhouse, { table: 't', action: 'DELETE', where: 'a = 1', signal })).rejects.toThrow(
    'knows no mutation of t any more',
  )
  const open = () => clickhouse.query("SELECT 1 FROM system.mutations WHERE table = 't'")
  await vi.waitFor(async () => expect(await open()).toHaveLength(1))
  await clickhouse.command("KILL MUTATION WHERE table = 't'")
  await deleting
})
