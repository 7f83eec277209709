import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { day_ms } from '@tributary/contracts/limits'
import { runErasures } from '@tributary/eraser/run-erasures'
import { requestRun } from '@tributary/erasure/runs'
import type { SentEvent } from '@tributary/testing/oracle/history'
import { now_ms } from '@tributary/testing/oracle/random-history'
import type { Pool, PoolClient } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ErasureStage, mark_ms, openErasureStage } from './stage.ts'

let stage: ErasureStage
beforeAll(async () => {
  stage = await openErasureStage()
})
afterAll(() => stage.close())

let sent = 0
const purchase = (at_ms: number, install_uuid = 'twice'): SentEvent => {
  sent += 1
  return {
    ...{ app: 0, install_uuid, partition: 0, source: 'sdk', received_at_ms: at_ms, event_id: `e${sent}` },
    ...{ event_name: 'purchase', event_ts_ms: at_ms, revenue: 5, currency: null, transaction_id: `t${sent}` },
  }
}

/** Statements of an eraser to PostgreSQL or the engine, by how they begin; the nth one of several. */
interface Sleep {
  before: string
  nth: number
}

/** An eraser that stands still before one statement, for as long as `meanwhile` takes. Its sessions, and so its locks, are lost then. */
async function runLate({ before, nth }: Sleep, meanwhile: () => Promise<void>): Promise<void> {
  const lease = new AbortController()
  let left = nth
  const sessions: PoolClient[] = []
  const endSessions = () =>
    pool.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS t (pid)', [
      sessions.map((one) => (one as unknown as { processID: number }).processID),
    ])
  const sleep = async (statement: string) => {
    if (!statement.trimStart().startsWith(before)) return
    left -= 1
    if (left !== 0) return
    await endSessions()
    await meanwhile()
    lease.abort(new Error('the lease is lost'))
  }
  const { clickhouse, pool } = stage
  const slowClickhouse: Clickhouse = {
    ...clickhouse,
    // It finds its rows in another order, of which a batch takes the first.
    query: (sql, params) =>
      clickhouse.query(sql.includes('FROM events_raw_v1 AS t') ? sql.replace('LIMIT 1000', 'LIMIT 1') : sql, params),
    async insert(block) {
      await sleep(`INSERT INTO ${block.table}`)
      await clickhouse.insert(block)
    },
    async command(sql, options) {
      await sleep(sql)
      await clickhouse.command(sql, options)
    },
  }
  const slowPool = {
    async query(sql: string, values?: unknown[]) {
      await sleep(sql)
      return pool.query(sql, values)
    },
    async connect() {
      await sleep('connect')
      const session = await pool.connect()
      const { release } = session
      sessions.push(session)
      session.release = (destroy) => {
        sessions.splice(sessions.indexOf(session), 1)
        release.call(session, destroy)
      }
      return session
    },
  } as unknown as Pool
  const run = await requestRun(pool, mark_ms)
  const deps = {
    ...stage.deps,
    pool: slowPool,
    clickhouse: before.includes('erasure_batches') ? slowClickhouse : { ...slowClickhouse, query: clickhouse.query },
  }
  await runErasures(deps, run, lease.signal).catch((error: Error) => {
    if (!/lease is lost|was lost|no longer/.test(error.message)) throw error
  })
  expect(left).toBeLessThanOrEqual(0)
}

const sleeps: Sleep[] = [
  // The tombstones of the requests that it takes; its first session holds the lock of the step.
  { before: 'connect', nth: 2 },
  { before: 'INSERT INTO erasure_batches', nth: 1 },
  { before: 'UPDATE erasure_batches', nth: 1 },
  { before: 'DELETE FROM activity_by_day_v1', nth: 1 },
  { before: 'DELETE FROM money_days_v1', nth: 1 },
  { before: 'INSERT INTO erased_events_v1', nth: 2 },
  { before: 'UPDATE erasure_requests AS e SET', nth: 1 },
]

test.for(sleeps)(
  'an eraser that wakes behind another one before its $nth "$before" counts nothing twice and takes nothing of a new life',
  async (sleep) => {
    const app_id = await stage.makeApp()
    const write = (...events: SentEvent[]) => stage.write({ events, decisions: [] }, [app_id])
    await write(purchase(mark_ms - 500), purchase(mark_ms - 400), purchase(mark_ms - 300, 'kept'))
    await stage.request(app_id, ['twice'])
    await runLate(sleep, async () => {
      await stage.run()
      expect((await stage.certificate(app_id, 'twice'))?.state).toBe('completed')
      await write(purchase(mark_ms + 10))
    })
    const all = { since_ms: now_ms - 10 * day_ms, until_ms: now_ms + 10 * day_ms }
    const events = async () => (await stage.ask('events', app_id, all)).rows.map((row) => [row.events, row.revenue_usd])
    const rowsOf = async (table: string, install_uuid: string) => {
      const [row] = await stage.clickhouse.query<{ n: number }>(
        `SELECT count() AS n FROM ${table} FINAL WHERE app_id = '${app_id}' AND install_key = sipHash64('${install_uuid}')`,
      )
      return row!.n
    }
    expect(await events()).toEqual([[2, 10]])
    for (const table of ['activity_by_day_v1', 'money_days_v1']) expect(await rowsOf(table, 'twice'), table).toBe(1)
    expect(await stage.certificate(app_id, 'twice')).toMatchObject({ state: 'completed', rows: { events_raw_v1: 2 } })

    await stage.request(app_id, ['twice'], 'sdk', mark_ms + 20)
    await stage.run({ now: () => mark_ms + 1000 })
    expect(await events()).toEqual([[1, 5]])
    for (const table of ['activity_by_day_v1', 'money_days_v1']) expect(await rowsOf(table, 'twice'), table).toBe(0)
    expect(await stage.certificate(app_id, 'twice')).toMatchObject({ state: 'completed', rows: { events_raw_v1: 3 } })
  },
)
