import { randomUUID } from 'node:crypto'
import { limits } from '@tributary/contracts/limits'
import { tableNames, tables } from '@tributary/contracts/tables'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportInstall } from '../src/export/export-install.ts'
import { adminApiUnderTest } from './admin-api-under-test.ts'

let engine: TestClickhouse
beforeAll(async () => {
  engine = await openTestClickhouse()
})
afterAll(() => engine.close())
const clickhouse = {
  query: <Row>(...given: Parameters<TestClickhouse['query']>) => engine.query<Row>(...given),
  insert: async () => {},
  command: async () => {},
  isInserting: async () => false,
  checkHealth: async () => {},
  close: async () => {},
}
const { inject, newApp, auditOf } = adminApiUnderTest({ clickhouse })

const day_ms = 24 * 3600 * 1000
const first_ms = Date.UTC(2026, 5, 1, 12)
const install_uuid = 'install-to-export'

/** A row that names the install, for a table that no view fills from events; all other columns have their defaults. */
async function insertRow(table: string, app_id: string, row: Record<string, unknown>) {
  const line = JSON.stringify({ app_id, ...row })
  await engine.command(`INSERT INTO ${table} FORMAT JSONEachRow ${line}`)
}

const linesOf = async (app_id: string) => {
  const answer = await inject(`/installs/${install_uuid}/export?app_id=${app_id}`)
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'application/x-ndjson; charset=utf-8'])
  return answer.body
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

test('an export has a row of every table that holds something of the install, and none of another', async () => {
  const { app_id } = await newApp()
  const other = await newApp()
  const money = { revenue_micros: '1000', currency: 'EUR' }
  const event = (given: object) =>
    testEventRow({ app_id, install_uuid, user_id: 'user', props: '{"level":[7]}', ts_ms: first_ms, ...money, ...given })
  const events = Array.from({ length: 450 }, (_, n) => event({ event_id: `e${n}`, ts_ms: first_ms + (n % 2) * day_ms }))
  const strangers = [event({ install_uuid: 'stranger', user_id: 'stranger' }), event({ app_id: other.app_id })]
  const claim = event({ event_id: 'claim', transaction_id: 't', transaction_key: '7' })
  await engine.insertEvents([...events, claim, ...strangers], randomUUID())
  const click_id = randomUUID()
  const verdict = { install_uuid, day: '2026-06-01', click_id, sign: 1, pending: 0 }
  await insertRow('installs_v1', app_id, { ...verdict, decision: '{"verdict":{"partner":"p"}}' })
  await insertRow('installs_v1', app_id, { ...verdict, click_id: '', pending: 1, offset: 1 })
  await insertRow('install_facts_v1', app_id, {
    install_uuid,
    fact: '{"kind":"install"}',
    match_keys: ['18446744073709551615'],
  })
  await insertRow('revenue_cancelled_v1', app_id, { install_uuid, day: '2026-06-01' })
  await insertRow('receipts_v1', app_id, { install_uuid, day: '2026-06-01', transaction_id: 'GPA.1', claim_key: 7 })
  await insertRow('revenue_chosen_v1', app_id, { install_uuid, day: '2026-06-01' })
  const clicked = new Date().toISOString().slice(0, 10)
  await insertRow('partner_deliveries_v1', app_id, { install_uuid, day: clicked })
  await insertRow('clicks_raw_v1', app_id, { click_id, day: clicked, click: '{"sub1":"s"}' })
  await insertRow('clicks_raw_v1', app_id, { click_id: randomUUID(), day: clicked })

  const lines = await linesOf(app_id)
  const end = lines.pop()
  expect(end).toEqual({ done: true, rows: lines.length })
  const ofInstall = tableNames.filter((name) =>
    tables[name].personal.some((column) => column === 'install_uuid' || column === 'install_key'),
  )
  expect([...new Set(lines.map(({ table }) => table))].toSorted()).toEqual([...ofInstall, 'clicks_raw_v1'].toSorted())
  const rowsOf = (table: string) => lines.filter((line) => line.table === table).map(({ row }) => row)
  expect(new Set(rowsOf('events_raw_v1').map(({ event_id }) => event_id)).size).toBe(451)
  expect(rowsOf('events_raw_v1')[0]).toMatchObject({ ts_ms: first_ms, user_id: 'user', props: { level: [7] } })
  expect(rowsOf('receipts_v1')).toMatchObject([{ transaction_id: 'GPA.1' }])
  expect(rowsOf('install_facts_v1')).toMatchObject([
    { fact: { kind: 'install' }, match_keys: ['18446744073709551615'] },
  ])
  expect(rowsOf('clicks_raw_v1')).toMatchObject([{ click_id, click: { sub1: 's' } }])
  expect(JSON.stringify(lines)).not.toContain('stranger')
  expect(JSON.stringify(lines)).not.toContain(other.app_id)
  const logged = await auditOf(app_id)
  expect(logged.at(-1)).toMatchObject({ action: 'install.export', detail: {} })
  expect(await linesOf((await newApp()).app_id)).toEqual([{ done: true, rows: 0 }])
})

test('an export shows no click that the install has lost, which may be that of another person by now', async () => {
  const { app_id } = await newApp()
  const [own, lost] = [randomUUID(), randomUUID()]
  const verdict = (click_id: string, offset: number, sign: number) =>
    insertRow('installs_v1', app_id, { install_uuid, day: '2026-06-01', click_id, offset, sign, pending: 0 })
  await verdict(lost, 0, 1)
  await verdict(lost, 1, -1)
  await verdict(own, 1, 1)
  const clicked = new Date().toISOString().slice(0, 10)
  for (const click_id of [own, lost]) await insertRow('clicks_raw_v1', app_id, { click_id, day: clicked, click: '{}' })
  const clicks = (await linesOf(app_id)).filter(({ table }) => table === 'clicks_raw_v1')
  expect(clicks.map(({ row }) => row.click_id)).toEqual([own])
})

test('an export of thousands of rows is read in pages, and holds each row once, whatever their order and names', async () => {
  const app_id = `app_${randomUUID()}`
  const rows_max = 2000
  // Most at one moment, as a client with a wrong clock sends them, and the others at moments of their own.
  const events = Array.from({ length: rows_max }, (_, n) =>
    testEventRow({ app_id, install_uuid, event_id: `e${n}`, ts_ms: first_ms + Math.max(0, n - 1500) * 1000 }),
  )
  await engine.insertEvents(events, randomUUID())
  // A row that is there twice is exported twice. Texts that are no UTF-8, and hold quotes, are keys as well.
  await engine.insertEvents(events.slice(0, 1), randomUUID())
  await engine.command(
    `INSERT INTO identities_v1 (app_id, install_uuid, user_id)
     SELECT '${app_id}', '${install_uuid}', concat(unhex('ff275c'), toString(number), unhex('eda0'))
     FROM numbers(${rows_max})`,
  )
  const read: number[] = []
  const counting = {
    query: async <Row>(sql: string, params?: Record<string, unknown>) => {
      const rows = await engine.query<Row>(sql, params)
      read.push(rows.length)
      return rows
    },
  }
  const rows = await Array.fromAsync(exportInstall(counting, { app_id, install_uuid }))
  const idsOf = (table: string, column: string) =>
    rows.flatMap((one) => (one.table === table ? [String(one.row[column])] : []))
  const sent = events.map((_, n) => `e${n}`)
  expect(idsOf('events_raw_v1', 'event_id').toSorted()).toEqual([...sent, 'e0'].toSorted())
  expect(new Set(idsOf('identities_v1', 'user_id')).size).toBe(rows_max)
  expect(idsOf('identities_v1', 'user_id')).toHaveLength(rows_max)
  expect(Math.max(...read)).toBeLessThanOrEqual(limits.export_page_rows + 1)
})
