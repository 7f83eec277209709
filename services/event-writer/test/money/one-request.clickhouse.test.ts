import { installPartition } from '@tributary/broker/partition'
import type { EnvelopeFacts } from '@tributary/contracts/envelope'
import { closeRecords, openRecords } from '@tributary/gateway/event-records'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { transactionSweep } from '../../src/money/sweep-transactions.ts'
import { moneyStage, newAppId, noon, purchase } from './money-stage.ts'

let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

const app_id = newAppId()
const partitions = 4
const partitionOf = (install_uuid: string) => installPartition(app_id, install_uuid, partitions)
/** Installs of one partition each. */
const inPartition = (partition: number): string[] =>
  Array.from({ length: 100 }, (_, n) => `i${n}`).filter((install_uuid) => partitionOf(install_uuid) === partition)

let requests = 0
/** What counts of one bulk request, whose records the gateway makes. A partition keeps its order; they are written in any. */
async function countedOf(lines: readonly [install_uuid: string, revenue: number, more?: object][]) {
  const turned: unknown[] = []
  for (const direction of [1, -1]) {
    const event_name = `purchase ${requests++}`
    const events = lines.map(([install_uuid, revenue, more]) => ({
      ...purchase(revenue, { event_name, ...more }),
      install_uuid,
    }))
    const facts: EnvelopeFacts = {
      ...{ v: 1, company_id: 'co_1', app_id, platform: 'ios', source: 'bulk', received_at_ms: noon },
      ...{ ip: '', user_agent: '', sdk: '', sdk_platform: '' },
    }
    const records = closeRecords(openRecords(facts, events, partitions), '')
    const stage = moneyStage(clickhouse)
    for (const { partition, value } of records.toSorted((a, b) => direction * (a.partition - b.partition))) {
      await stage.writeRecord({ partition, offset: next_offset++, value })
    }
    expect(await transactionSweep(clickhouse)()).toBe(0)
    const found = (await stage.sums(app_id)).find(([name]) => name === event_name)
    turned.push(found?.slice(1))
  }
  expect(turned[1]).toEqual(turned[0])
  return turned[0]
}
let next_offset = 0

const ofAnotherYear = { event_ts_ms: Date.UTC(2025, 5, 1) }

test('the first line of a request has the money of a transaction among those of one install', async () => {
  const [a, b] = inPartition(0) as [string, string]
  expect(
    await countedOf([
      [a, 9.99],
      [a, 50],
    ]),
  ).toEqual([2, 9.99])
  expect(
    await countedOf([
      [a, 9.99],
      [a, 50, ofAnotherYear],
    ]),
  ).toEqual([2, 9.99])
  expect(
    await countedOf([
      [b, 1, { transaction_id: 't2' }],
      [a, 50],
      [b, 3, { transaction_id: 't2' }],
      [a, 9.99],
    ]),
  ).toEqual([4, 51])
})

test('among installs of one partition the install that the request names first has it', async () => {
  const [a, b] = inPartition(1) as [string, string]
  expect(
    await countedOf([
      [a, 9.99],
      [b, 50],
    ]),
  ).toEqual([2, 9.99])
  expect(
    await countedOf([
      [a, 1, { transaction_id: null }],
      [b, 50],
      [a, 9.99],
    ]),
  ).toEqual([3, 10.99])
})

test('among installs of several partitions the lowest partition has it, whichever line is first', async () => {
  const [low, high] = [inPartition(0)[0]!, inPartition(3)[0]!]
  expect(
    await countedOf([
      [low, 50],
      [high, 9.99],
    ]),
  ).toEqual([2, 50])
  expect(
    await countedOf([
      [high, 9.99],
      [low, 50],
    ]),
  ).toEqual([2, 50])
})
