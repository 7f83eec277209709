import { day_ms } from '@tributary/contracts/limits'
import type { Table } from '@tributary/contracts/table'
import { derivedFromEvents, tables } from '@tributary/contracts/tables'
import { transactionSweep } from '@tributary/event-writer/money/sweep-transactions'
import { refillTables } from '@tributary/tables/repair/refill-tables'
import type { SentEvent } from '@tributary/testing/oracle/history'
import { now_ms } from '@tributary/testing/oracle/random-history'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ErasureStage, Killed, openErasureStage, sentEvent } from './stage.ts'

let stage: ErasureStage
beforeAll(async () => {
  stage = await openErasureStage()
})
afterAll(() => stage.close())

const write = (events: SentEvent[], ...app_ids: string[]) => stage.write({ events, decisions: [] }, app_ids)

/** Every row of an app, in all tables but the stamps, which only grow. */
async function rowsOf(app_id: string): Promise<Record<string, unknown[]>> {
  const rows: Record<string, unknown[]> = {}
  for (const [table, { of_no_app }] of Object.entries<Table>(tables)) {
    if (of_no_app || table === 'schema_migrations_v1' || table === 'report_stamps_v1') continue
    const isSet = table === 'event_installs_per_day_v1'
    const columns = isSet ? 'day, event_name, uniqExactMerge(installs)' : '*'
    const groups = isSet ? 'GROUP BY day, event_name' : ''
    rows[table] = await stage.clickhouse.query(
      `SELECT ${columns} FROM ${table} WHERE app_id = '${app_id}' ${groups} ORDER BY ALL SETTINGS final = 1`,
    )
  }
  return rows
}

test('an erasure touches no row of another app with the same installs, transactions and events', async () => {
  const [app_id, other] = [await stage.makeApp(), await stage.makeApp()]
  const paid = { event_name: 'purchase', revenue: 5, transaction_id: 't' }
  const same = ['a', 'b'].flatMap((uuid) => [
    sentEvent(uuid, { event_name: 'app_install' }),
    sentEvent(uuid, paid),
    sentEvent(uuid),
  ])
  await write([...same, ...same.map((one) => ({ ...one, app: 1 }))], app_id, other)
  const before = await rowsOf(other)
  await stage.request(app_id, ['a', 'b'])
  await stage.run()
  expect(await rowsOf(other)).toEqual(before)
})

test('a stored batch that is done again, and by two erasers at once, changes nothing', async () => {
  const app_id = await stage.makeApp()
  const paid = { event_name: 'purchase', revenue: 5, transaction_id: 'twice' }
  await write([sentEvent('a', paid), sentEvent('b', paid), sentEvent('a'), sentEvent('b')], app_id)
  await stage.request(app_id, ['a'])
  const atStep = (step: string) => {
    if (step === 'end') throw new Killed('after all that the batch does, before it is ended')
  }
  await expect(stage.run({ atStep })).rejects.toThrow(Killed)
  const once = await rowsOf(app_id)
  const results = await Promise.allSettled([stage.run(), stage.run()])
  expect(results.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0)
  expect(await rowsOf(app_id)).toEqual(once)
  const { state, rows } = (await stage.certificate(app_id, 'a'))!
  expect([state, rows.events_raw_v1]).toEqual(['completed', 2])
})

test('two erasers of the same requests end as one does', async () => {
  const app_id = await stage.makeApp()
  const paid = { event_name: 'purchase', revenue: 5, transaction_id: 'race' }
  await write([sentEvent('a', paid), sentEvent('b', paid), sentEvent('a'), sentEvent('b'), sentEvent('c')], app_id)
  await stage.request(app_id, ['a', 'c'])
  await Promise.allSettled([stage.run(), stage.run()])
  await stage.run()
  const left = await stage.clickhouse.query(
    `SELECT DISTINCT install_uuid FROM events_raw_v1 WHERE app_id = '${app_id}'`,
  )
  expect(left).toEqual([{ install_uuid: 'b' }])
  const { rows } = (await stage.certificate(app_id, 'a'))!
  expect(rows.events_raw_v1).toBe(2)
  const [erased] = await stage.clickhouse.query<{ events: number }>(
    `SELECT sum(events) AS events FROM erased_events_v1 FINAL WHERE app_id = '${app_id}'`,
  )
  expect(erased).toEqual({ events: 3 })
})

test('a request that comes again before anything new is done at once, and one of an unknown app is given back', async () => {
  const app_id = await stage.makeApp()
  await write([sentEvent('again')], app_id)
  await stage.request(app_id, ['again'])
  await stage.run()
  await stage.request(app_id, ['again'])
  expect((await stage.certificate(app_id, 'again'))?.state).toBe('completed')
  expect(await stage.request('none', ['again'])).toHaveLength(1)
})

test('tables that are filled again while a batch is half-done count its events once, wherever it was killed', async () => {
  const app_id = await stage.makeApp()
  const paid = { event_name: 'purchase', revenue: 5, transaction_id: 'half' }
  const gone = [sentEvent('gone', paid), sentEvent('gone', { ...paid, transaction_id: null })]
  await write([...gone, sentEvent('kept', { ...paid, transaction_id: null }), sentEvent('kept', paid)], app_id)
  const all = { since_ms: now_ms - 10 * day_ms, until_ms: now_ms + day_ms }
  await stage.request(app_id, ['gone'])
  const refill = () => refillTables({ clickhouse: stage.clickhouse, tables: derivedFromEvents, logger: { info() {} } })
  const sums = async () => {
    const { rows } = await stage.ask('events', app_id, all)
    const quota = await stage.clickhouse.query(
      `SELECT sum(events) AS n FROM events_received_per_day_v1 WHERE app_id = '${app_id}'`,
    )
    return [rows.map(({ event_name, events }) => [event_name, events]), quota]
  }
  const right = [[['purchase', 2]], [{ n: 4 }]]
  const killAt = (step: string) =>
    stage.run({
      atStep(at) {
        if (at === step) throw new Killed(step)
      },
    })
  for (const step of ['delete events_raw_v1', 'delete revenue_raw_v1', 'done counters', 'stamps']) {
    await expect(killAt(step), step).rejects.toThrow(Killed)
    await refill()
    expect(await sums(), step).toEqual(right)
    if (step !== 'delete events_raw_v1') continue
    // A delete that the engine has carried out in part.
    const [{ offset } = { offset: 0 }] = await stage.clickhouse.query<{ offset: number }>(
      `SELECT min(offset) AS offset FROM events_raw_v1 WHERE app_id = '${app_id}' AND install_uuid = 'gone'`,
    )
    await stage.clickhouse.command(`DELETE FROM events_raw_v1 WHERE app_id = '${app_id}' AND offset = ${offset}`)
    await refill()
    expect(await sums(), 'half of the delete').toEqual(right)
  }
  await stage.run()
  await refill()
  expect(await sums()).toEqual(right)
  expect((await stage.ask('revenue', app_id, all)).rows).toMatchObject([{ purchases: 1, revenue_usd: 5 }])
  const named = await stage.clickhouse.query(
    `SELECT 1 FROM erased_events_v1 FINAL WHERE app_id = '${app_id}' AND notEmpty(row_keys)`,
  )
  expect(named).toEqual([])
})

test('a sweep that slept through an erasure cancels no money of the erased install again', async () => {
  const app_id = await stage.makeApp()
  const paid = { event_name: 'purchase', revenue: 5, transaction_id: 'slept' }
  await write([sentEvent('kept', { ...paid, source: 's2s' }), { ...sentEvent('gone', paid), partition: 1 }], app_id)
  await write([sentEvent('gone', { event_name: 'purchase', revenue: 3 })], app_id)
  const cancelled = () =>
    stage.clickhouse.query(`SELECT DISTINCT install_uuid FROM revenue_cancelled_v1 WHERE app_id = '${app_id}'`)
  expect(await cancelled()).toEqual([{ install_uuid: 'gone' }])
  await stage.request(app_id, ['gone'])
  let slept = false
  const sleep = async (statement: string) => {
    if (slept || !statement.includes('revenue_cancelled_v1')) return
    slept = true
    await stage.run()
  }
  // The first sweep of a process puts in again what it finds cancelled.
  const sweep = transactionSweep({
    ...stage.clickhouse,
    async insert(block) {
      await sleep(block.table)
      await stage.clickhouse.insert(block)
    },
    async command(sql, options) {
      await sleep(sql)
      await stage.clickhouse.command(sql, options)
    },
  })
  await sweep()
  expect(slept).toBe(true)
  expect(await cancelled()).toEqual([])
  const all = { since_ms: now_ms - 10 * day_ms, until_ms: now_ms + day_ms }
  expect((await stage.ask('events', app_id, all)).rows).toMatchObject([{ events: 1, revenue_usd: 5 }])
})

test('an eraser waits for a sweep whose statement the engine is still at work on', async () => {
  const app_id = await stage.makeApp()
  const paid = { event_name: 'purchase', revenue: 5, transaction_id: 'busy' }
  await write([sentEvent('kept', { ...paid, source: 's2s' }), { ...sentEvent('gone', paid), partition: 1 }], app_id)
  await write([sentEvent('gone', { event_name: 'purchase', revenue: 3 })], app_id)
  await stage.request(app_id, ['gone'])
  let looks = 0
  const deleted: string[] = []
  const clickhouse: typeof stage.clickhouse = {
    ...stage.clickhouse,
    async isInserting(prefix) {
      if (!prefix.startsWith('copy/')) return stage.clickhouse.isInserting(prefix)
      expect(prefix).toContain(app_id)
      looks += 1
      return looks < 3
    },
    async command(sql, options) {
      if (sql.startsWith('DELETE FROM revenue')) deleted.push(`${sql.split(' ')[2]} after ${looks} looks`)
      await stage.clickhouse.command(sql, options)
    },
  }
  await stage.run({ clickhouse })
  expect(deleted).toEqual(['revenue_raw_v1 after 0 looks', 'revenue_cancelled_v1 after 3 looks'])
})

test('a batch that was killed forgets days of money too, in whatever order PostgreSQL gives its tables back', async () => {
  const app_id = await stage.makeApp()
  await write([sentEvent('gone', { event_name: 'purchase', revenue: 5, transaction_id: 'order' })], app_id)
  await stage.request(app_id, ['gone'])
  const atStep = (step: string) => {
    if (step.startsWith('delete')) throw new Killed(step)
  }
  await expect(stage.run({ atStep })).rejects.toThrow(Killed)
  await stage.run()
  const left = Object.entries(await rowsOf(app_id)).flatMap(([table, rows]) => (rows.length > 0 ? [table] : []))
  expect(left.toSorted()).toEqual([
    ...['erased_claims_v1', 'erased_events_v1', 'events_per_day_v1', 'events_received_per_day_v1'],
  ])
})
