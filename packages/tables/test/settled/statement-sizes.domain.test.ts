import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { addDays } from '../../src/settled/days.ts'
import { createSettler, whenQuiet } from '../../src/settled/settler.ts'

const { settle_days_first: first, settle_days_max: most, settle_statement_ms: long_ms } = limits

/** Days of each statement that settles installs. `apps`: due days of each; `took_ms`: the time of a statement of so many days. */
async function sizesOf(
  apps: Record<string, number>,
  took_ms: (days: number) => number,
  refuse: (days: number) => boolean = () => false,
): Promise<number[]> {
  const sizes: number[] = []
  let elapsed_ms = 0
  const due = Object.entries(apps).flatMap(([app_id, days]) =>
    Array.from({ length: days }, (_, n) => ({
      ...{ app_id, day: addDays('2026-01-01', n), n: 0, stamp: '1', other_changes: '0', is_changing: 0 },
    })),
  )
  const clickhouse = {
    query: async (sql: string) => (sql.includes('settled_installs_v1') ? due : []),
    async command(sql: string) {
      const days = sql.match(/'\d{4}-\d\d-\d\d', \d/g)!.length
      elapsed_ms += took_ms(days)
      if (refuse(days)) throw new CodedError('unavailable')
      sizes.push(days)
    },
    checkHealth: async () => {},
  } as unknown as Clickhouse
  const settle = createSettler({ clickhouse, logger: pino({ level: 'silent' }), elapsed: () => elapsed_ms })
  expect((await settle({ quiet_ms: 0 })).settled).toBe(due.length)
  return sizes
}

test('short statements settle twice as many days each time, up to a bound', async () => {
  expect(await sizesOf({ a: 600 }, () => 1)).toEqual([
    first,
    16,
    32,
    most,
    most,
    most,
    most,
    most,
    most,
    most,
    most,
    32,
  ])
})

test('statements of a large app stay short', async () => {
  const sizes = await sizesOf({ a: 200 }, (days) => (days * long_ms) / 30)
  expect(Math.max(...sizes)).toBe(16)
  expect(await sizesOf({ a: 32 }, () => long_ms * 10)).toEqual([first, first, first, first])
})

test('statements that take long become smaller again', async () => {
  let statements = 0
  const sizes = await sizesOf({ a: 176 }, () => (statements++ < 3 ? 1 : 2 * long_ms))
  expect(sizes).toEqual([first, 16, 32, most, 32, 16, first])
})

test('each app begins with small statements', async () => {
  expect(await sizesOf({ a: 24, b: 24 }, () => 1)).toEqual([first, 16, first, 16])
})

test('what the engine refuses is divided, and no day is left out', async () => {
  const sizes = await sizesOf(
    { a: 100 },
    () => 1,
    (days) => days > 20,
  )
  expect([Math.max(...sizes) <= 20, sizes.reduce((sum, days) => sum + days, 0)]).toEqual([true, 100])
})

test('a day that the engine refuses alone rests for a while, but whoever asks has it tried', async () => {
  let elapsed_ms = 0
  let tries = 0
  const one = { app_id: 'a', day: '2026-01-01', n: 0, stamp: '1', other_changes: '0', is_changing: 0 }
  const clickhouse = {
    query: async (sql: string) => (sql.includes('settled_installs_v1') ? [one] : []),
    async command() {
      tries += 1
      throw new CodedError('unavailable')
    },
    checkHealth: async () => {},
  } as unknown as Clickhouse
  const settle = createSettler({ clickhouse, logger: pino({ level: 'silent' }), elapsed: () => elapsed_ms })
  await settle(whenQuiet)
  elapsed_ms += limits.settle_refused_ms - 1
  await settle(whenQuiet)
  expect(tries).toBe(1)
  await settle({ quiet_ms: 0 })
  expect(tries).toBe(2)
  elapsed_ms += limits.settle_refused_ms
  await settle(whenQuiet)
  expect(tries).toBe(3)
})
