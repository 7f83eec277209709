import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import { findEventKeys } from '@tributary/tables/events/event-keys'
import { expect, onTestFinished, test } from 'vitest'
import { testServer } from './server-under-test.ts'

const key = { app_id: 'app_1', key_day: '2026-01-31', event_key: '42', topic: 't', partition: 0, offset: 7 }
const ask = { app_id: 'app_1', event_key: '42', key_days: ['2026-01-31'] }

interface Replica {
  name: string
  /** What other replicas acknowledged and this one has yet to fetch. */
  behind: Set<string>
}

/**
 * As much of a replicated server as the adapter meets, since none can be run here: a replica that lags answers with what
 * it has, and SYSTEM SYNC REPLICA waits until it has the rest of one table.
 */
function answer(replica: Replica, sql: string): unknown[] {
  const synced = /^SYSTEM SYNC REPLICA (\w+) LIGHTWEIGHT/.exec(sql)?.[1]
  if (synced !== undefined) replica.behind.delete(synced)
  if (sql.includes('system.tables')) return [{ name: 'event_keys_v1' }, { name: 'events_raw_v1' }]
  if (sql.includes('FROM event_keys_v1')) return replica.behind.has('event_keys_v1') ? [] : [key]
  return []
}

/** One address behind which the replicas answer in turn. */
async function openReplicas(names: readonly string[], given: { complete_reads: boolean }) {
  const replicas = names.map((name): Replica => ({ name, behind: new Set(['event_keys_v1', 'events_raw_v1']) }))
  let turn = 0
  const server = createServer(async (request, response) => {
    const sql = await text(request)
    const replica = replicas[turn++ % replicas.length]!
    const rows = answer(replica, sql)
    response.setHeader('X-ClickHouse-Server-Display-Name', replica.name)
    response.end(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const clickhouse = await openClickhouseServer(testServer(url, given))
  onTestFinished(async () => {
    await clickhouse.close()
    server.close()
  })
  return { clickhouse, replicas }
}

test('a look-up on a replica that lags sees what another replica acknowledged', async () => {
  const { clickhouse, replicas } = await openReplicas(['one'], { complete_reads: true })
  expect(await findEventKeys(clickhouse, [ask])).toEqual([key])
  replicas[0]!.behind.add('event_keys_v1')
  expect(await findEventKeys(clickhouse, [ask])).toEqual([key])
})

test('only the tables that a question reads are waited for, and reports wait for none', async () => {
  const { clickhouse, replicas } = await openReplicas(['one'], { complete_reads: true })
  await findEventKeys(clickhouse, [ask])
  expect([...replicas[0]!.behind]).toEqual(['events_raw_v1'])
  const reports = await openReplicas(['one'], { complete_reads: false })
  expect(await findEventKeys(reports.clickhouse, [ask])).toEqual([])
})

test('an address behind which several servers answer in turn is refused, since the other one may lag', async () => {
  const { clickhouse } = await openReplicas(['one', 'two'], { complete_reads: true })
  await expect(findEventKeys(clickhouse, [ask])).rejects.toMatchObject({
    code: 'unavailable',
    cause: { message: expect.stringMatching(/leads to several servers \((one, two|two, one)\)/) },
  })
})
