import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import { day_ms } from '@tributary/contracts/limits'
import { openPostgres } from '@tributary/postgres/postgres'
import { rawSql } from '@tributary/tables/raw/raw-sql'
import { createServerKey } from '@tributary/tenancy/companies/tenants'
import { type Fleet, openFleet } from '@tributary/testing/fleet/fleet'
import { type Bench, type BenchRow, numberArgument, percentile } from '../bench.ts'
import { ownMegabytes } from '../process/process-cost.ts'

const insert_rows = 100_000
/** Reports of the other app, in each half of a pair. */
const reports = 100
const reports_pause_ms = 50

/** Measures `GET /api/v1/raw/events` of a fleet beside the engine's own statement, and the reports of another app meanwhile. */
export const bench: Bench = {
  name: 'raw',
  title:
    'raw: events as raw data beside the same statement sent to the engine; memory of report-api; reports of another app meanwhile (--events 1000000 --runs 3 --pairs 3)',
  async run(args) {
    const events = numberArgument(args, 'events', 1_000_000)
    const fleet = await openFleet({ gateways: 1, apps: 2 })
    try {
      const [pulled, other] = fleet.tenants as [Fleet['tenants'][0], Fleet['tenants'][0]]
      const until_ms = Math.floor(Date.now() / day_ms) * day_ms
      const window = { since_ms: until_ms - day_ms, until_ms }
      for (const { app_id } of [pulled, other]) await fill(fleet.clickhouse, app_id, events, window.since_ms)
      const api = await fleet.startService('report-api')
      const key = await makeKey(fleet, pulled.app_id)
      const address = (format: string) =>
        `${api.url}/api/v1/raw/events?since_ms=${window.since_ms}&until_ms=${window.until_ms}&format=${format}`
      const pull = (format: string, signal?: AbortSignal) =>
        read(address(format), { authorization: `Bearer ${key}`, 'accept-encoding': 'identity' }, signal)
      const sql = `${rawSql('events', { app_id: pulled.app_id, ...window })} FORMAT Parquet`
      const alone = () => read(`${fleet.engine('clickhouse').url}/?database=tributary`, {}, undefined, sql)

      await pull('parquet')
      const speeds = { parquet: [] as number[], jsonl: [] as number[], engine: [] as number[] }
      let memory_mb = 0
      const timer = setInterval(() => {
        memory_mb = Math.max(memory_mb, ownMegabytes(api.pid()))
      }, 50)
      for (let run = 0; run < numberArgument(args, 'runs', 3); run += 1) {
        speeds.engine.push(events / (await alone()))
        speeds.parquet.push(events / (await pull('parquet')))
        speeds.jsonl.push(events / (await pull('jsonl')))
      }
      const ratios: number[] = []
      const p95s: [number, number][] = []
      const ask = () => measureReports(`${api.url}/api/v1/reports/events`, other.server_key)
      for (let pair = 0; pair < numberArgument(args, 'pairs', 3); pair += 1) {
        const quiet = percentile(await ask(), 0.95)
        const stop = new AbortController()
        const pulling = pullOn(() => pull('parquet', stop.signal), stop.signal)
        const beside = percentile(await ask(), 0.95)
        stop.abort()
        await pulling
        p95s.push([quiet, beside])
        ratios.push(beside / quiet)
      }
      clearInterval(timer)
      const median = (values: readonly number[]) => percentile(values, 0.5)
      const rows: BenchRow[] = [
        { what: 'Parquet, rows/s', measured: Math.round(median(speeds.parquet)) },
        { what: 'JSON lines, rows/s', measured: Math.round(median(speeds.jsonl)) },
        { what: 'Parquet by the engine alone, rows/s', measured: Math.round(median(speeds.engine)) },
        { what: 'memory of report-api at most, MB', measured: memory_mb },
        ...p95s.flatMap(([quiet, beside], n) => [
          { what: `p95 of a report of another app, pair ${n + 1}, ms`, measured: Math.round(quiet) },
          { what: 'the same beside a pull', measured: Math.round(beside) },
        ]),
      ]
      const share = median(speeds.parquet) / median(speeds.engine)
      const slower = median(ratios)
      return {
        rows,
        aims: [
          { what: 'Parquet, share of the speed of the engine', aim: '>= 0.5', measured: share, met: share >= 0.5 },
          { what: 'memory of report-api, MB', aim: '<= 200', measured: memory_mb, met: memory_mb <= 200 },
          { what: 'p95 beside a pull, times that alone', aim: '<= 1.5', measured: slower, met: slower <= 1.5 },
        ],
      }
    } finally {
      await fleet.stop()
    }
  },
}

/** Seconds until the whole answer has come. */
async function read(
  url: string,
  headers: Record<string, string>,
  signal?: AbortSignal,
  body?: string,
): Promise<number> {
  const began = performance.now()
  const answer = await fetch(url, { headers, ...(signal && { signal }), ...(body && { method: 'POST', body }) })
  if (!answer.ok) throw new Error(`${url} answered ${answer.status} ${await answer.text()}`)
  await pipeline(answer.body!, new Writable({ write: (_part, _encoding, done) => done() }))
  return (performance.now() - began) / 1000
}

/** Pulls again and again until the signal fires. */
async function pullOn(pull: () => Promise<number>, stop: AbortSignal): Promise<void> {
  while (!stop.aborted)
    await pull().catch((error: unknown) => {
      if (!stop.aborted) throw error
    })
}

async function measureReports(url: string, key: string): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < reports; n += 1) {
    const began = performance.now()
    const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
    await answer.arrayBuffer()
    if (!answer.ok) throw new Error(`a report was answered ${answer.status}`)
    times.push(performance.now() - began)
    await pause(reports_pause_ms)
  }
  return times
}

/** Events of a day of an app, in its tables and all that views make of them. */
async function fill(clickhouse: Clickhouse, app_id: string, events: number, since_ms: number): Promise<void> {
  const values = {
    ...{ app_id: textLiteral(app_id), company_id: `'bench'`, event_name: `concat('event_', toString(n % 20))` },
    ...{ install_uuid: `toString(reinterpretAsUUID(sipHash128(n % 50000)))`, event_id: `toString(n)` },
    ...{ ts_ms, received_at_ms: ts_ms, stored_at_ms: ts_ms, day: day, key_day: day, event_key: 'sipHash64(n)' },
    ...{
      props: `concat('{"level":', toString(n % 100), ',"text":"', repeat('x', 80), '"}')`,
      device: `'{"model":"Pixel 8"}'`,
    },
    ...{ extra: `'{}'`, platform: `'android'`, source: `'sdk'`, country: `'AT'`, topic: `'bench'`, offset: 'n' },
  }
  const [columns, select] = [Object.keys(values).join(', '), Object.values(values).join(', ')]
  for (let from = 0; from < events; from += insert_rows) {
    const numbers = `SELECT number AS n, ${since_ms} + n % ${day_ms} AS at FROM numbers(${from}, ${Math.min(insert_rows, events - from)})`
    await clickhouse.command(`INSERT INTO events_raw_v1 (${columns}) SELECT ${select} FROM (${numbers})`)
  }
}
const ts_ms = 'toInt64(at)'
const day = `toDate(fromUnixTimestamp64Milli(toInt64(at), 'UTC'))`

async function makeKey(fleet: Fleet, app_id: string): Promise<string> {
  const url = fleet.engine('postgres').url
  const pool = openPostgres({ url, pool_max: 1, statement_timeout_ms: 10_000, connect_timeout_ms: 10_000 })
  try {
    const key = { app_id, label: 'raw', allowed_events: [], scopes: ['raw:read' as const] }
    return (await createServerKey(pool, key, { actor: 'bench', request_id: 'bench', now_ms: Date.now() })).key
  } finally {
    await pool.end()
  }
}
