import { randomUUID } from 'node:crypto'
import type { LogRecord } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Envelope } from '@tributary/contracts/envelope'
import { noTombstones } from '@tributary/domain/erasure/tombstones'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventWriter } from '../../src/event-writer.ts'
import { transactionSweep } from '../../src/money/sweep-transactions.ts'

const topic = 'events.accepted.v1@1'
const noon = Date.UTC(2026, 0, 2, 12)
let clickhouse: TestClickhouse
beforeAll(async () => {
  clickhouse = await openTestClickhouse()
})
afterAll(() => clickhouse.close())

/** The engine for a server that is killed between the data of one insert and its stamps. */
function killedBeforeStamps(table: string): Clickhouse {
  const killedIn = async (work: () => Promise<void>) => {
    const before = await readStamps()
    await work()
    // The server had not written these when it was killed, its tokens included.
    await clickhouse.command('TRUNCATE TABLE report_stamps_v1')
    expect(before).not.toEqual(await readStamps())
    throw new Error('killed')
  }
  return {
    ...clickhouse,
    insert: (block) => (block.table === table ? killedIn(() => clickhouse.insert(block)) : clickhouse.insert(block)),
    command: (sql, options) =>
      isInsertInto(table, sql) ? killedIn(() => clickhouse.command(sql, options)) : clickhouse.command(sql, options),
  }
}

const isInsertInto = (table: string, sql: string): boolean => sql.startsWith(`INSERT INTO ${table} `)

const readStamps = async () => {
  const rows = await clickhouse.query<{ source: string }>(
    'SELECT DISTINCT source FROM report_stamps_v1 ORDER BY source',
  )
  return rows.map(({ source }) => source)
}

/** A purchase of an install, in a batch of its own. */
async function write(app_id: string, partition: number, using: Clickhouse, repeated = false) {
  const event = { event_id: 'e', event_name: 'purchase', event_ts_ms: noon, transaction_id: 't', revenue: 5 }
  const envelope: Envelope = {
    ...{ v: 1, company_id: 'co_1', app_id, platform: 'ios', source: 'sdk', received_at_ms: noon },
    ...{
      ip: '',
      user_agent: '',
      sdk: '',
      sdk_platform: '',
      audit_key: '',
      install_uuid: `i${partition}`,
      events: [event],
    },
  }
  const record = { topic, partition, offset: 0, timestamp_ms: noon, key: null, headers: {} } as unknown as LogRecord
  const writer = eventWriter({ clickhouse: using })
  await writer.handle({
    ...{
      topic,
      partition,
      source: topic,
      from: 0,
      to: 0,
      token: `${app_id}/${partition}`,
      attempt: repeated ? 2 : 1,
      tombstones: noTombstones,
      stored_at_ms: 0,
    },
    records: [{ record, value: writer.decode({ ...record, value: Buffer.from(JSON.stringify(envelope)) }, topic) }],
    state: undefined,
    signal: new AbortController().signal,
    async fence() {},
    keep() {},
    dead() {},
    dropped() {},
    written() {},
  })
}

test('a batch whose stamps a kill swallowed has them after its repetition', async () => {
  const app_id = randomUUID()
  // Without a stamp before, the check in `killedBeforeStamps` would say nothing.
  await write(randomUUID(), 0, clickhouse)
  await expect(write(app_id, 0, killedBeforeStamps('events_raw_v1'))).rejects.toThrow('killed')
  expect(await readStamps()).toEqual([])
  await write(app_id, 0, clickhouse, true)
  expect(await readStamps()).toEqual(['activity', 'money', 'uniques'])
})

test('cancelled money whose stamps a kill swallowed has them after the first sweep of the next process', async () => {
  const app_id = randomUUID()
  await write(app_id, 0, clickhouse)
  await expect(write(app_id, 1, killedBeforeStamps('revenue_cancelled_v1'))).rejects.toThrow('killed')
  expect(await readStamps()).toEqual([])
  await transactionSweep(clickhouse)()
  expect(await readStamps()).toEqual(['money'])
})

test('a sweep that fails puts in again what it may have left without stamps', async () => {
  const app_id = randomUUID()
  let dying = false
  const sweep = transactionSweep({
    ...clickhouse,
    command: (sql, options) => (dying ? killedBeforeStamps('revenue_cancelled_v1') : clickhouse).command(sql, options),
  })
  await sweep()
  await write(app_id, 0, clickhouse)
  // Both partitions count it: the cancelling insert of the second one never came.
  const lost: Clickhouse = {
    ...clickhouse,
    async command(sql, options) {
      if (!isInsertInto('revenue_cancelled_v1', sql)) await clickhouse.command(sql, options)
    },
  }
  await write(app_id, 1, lost)
  dying = true
  await expect(sweep()).rejects.toThrow('killed')
  dying = false
  await sweep()
  expect(await readStamps()).toEqual(['money'])
})
