import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { openEmbeddedClickhouse } from '@tributary/clickhouse/embedded'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { day_ms } from '@tributary/contracts/limits'
import { type Aim, type Bench, type BenchRow, numberArgument, percentile, textArgument } from '../bench.ts'
import { newAppId } from '../writer/events.ts'
import { openReportClient, type ReportClient } from './ask.ts'
import { bruteForce, type Measured, questions } from './brute-force.ts'
import { fillOnce } from './filled.ts'
import { type BenchApp, now_ms, tenth_share } from './model.ts'
import { settleAll, startSettler } from './settler.ts'
import { startTraffic } from './traffic.ts'

const windows = {
  '30 days': { since_ms: now_ms - 30 * day_ms, until_ms: now_ms },
  year: { since_ms: now_ms - 365 * day_ms, until_ms: now_ms },
}
type WindowName = keyof typeof windows
/** How long events are written before reports are measured. */
const warm_ms = 20_000
/** p95 by question and window; what has no aim is not asked. */
const ms_max: Record<Measured, Partial<Record<WindowName, number>>> = {
  attribution: { '30 days': 50, year: 100 },
  events: { '30 days': 50, year: 100 },
  revenue: { '30 days': 50, year: 100 },
  cohorts: { '30 days': 50, year: 200 },
  ltv: { '30 days': 50, year: 200 },
  'performance by day': { '30 days': 80 },
  'performance by month': { year: 150 },
  'performance by country': { year: 400 },
}

/** Measures all reports over a large app, beside brute force over its raw rows, quiet and while events are written. */
export const bench: Bench = {
  name: 'reports',
  title:
    'reports: every report of 30 days and of a year, beside brute force (--events 10000000 --runs 20 --apps 20 --traffic 5000 --minutes 3; --only TEXT measures the questions whose names have it, and --traffic 0 no writes; --keep DIR fills a folder once and measures it again later, also after a fill that was broken off)',
  async run(args) {
    const kept = textArgument(args, 'keep')
    const data_dir = kept ?? mkdtempSync(join(tmpdir(), 'tributary-bench-reports-'))
    const clickhouse = await openEmbeddedClickhouse({ data_dir })
    try {
      await migrateClickhouse({ clickhouse })
      // The clicks of the year are older than the engine's clock lets them become.
      await clickhouse.command('ALTER TABLE clicks_raw_v1 MODIFY TTL day + toIntervalYear(50)')
      const client = await openReportClient(clickhouse)
      const measured = await measure({
        ...{ clickhouse, client, kept },
        events: numberArgument(args, 'events', 10_000_000),
        apps: numberArgument(args, 'apps', 20),
        runs: numberArgument(args, 'runs', 20),
        traffic: numberArgument(args, 'traffic', 5000),
        minutes: numberArgument(args, 'minutes', 3),
        only: textArgument(args, 'only') ?? '',
      })
      await client.close()
      return measured
    } finally {
      await clickhouse.close()
      if (kept === undefined) rmSync(data_dir, { recursive: true, force: true })
    }
  },
}

interface Setup {
  clickhouse: Clickhouse
  client: ReportClient
  /** The folder that a run filled and a later one measures again. */
  kept: string | undefined
  events: number
  /** Small apps beside the large one. */
  apps: number
  runs: number
  /** Events a second while reports are measured. */
  traffic: number
  /** How long writer and settler go on after the reports of the first load. */
  minutes: number
  /** A part of the names of the questions that are asked. */
  only: string
}

async function measure({ clickhouse, client, kept, events, apps, runs, traffic, minutes, only }: Setup) {
  const { large, tenth, settle_s } = await fillOnce(clickhouse, kept, { events, apps })
  const disk_bytes = await bytesPerEvent(clickhouse)

  const quiet = await measureAll(client, large, { runs, only }, 'quiet')
  for (const row of quiet) await compare(row, { clickhouse, client, app: large })
  const growth = (await measureAll(client, tenth, { runs, only }, 'a tenth')).filter(({ window }) => window === 'year')
  const busy: Figures[] = []
  let settler_share = 0
  for (const [load, others] of [
    ['writes of this app', 0],
    ['writes of 20 apps', 19],
  ] as const) {
    if (traffic === 0) break
    const app_ids = [large.app_id, ...Array.from({ length: others }, newAppId)]
    const flow = await startTraffic(clickhouse, { app_ids, events_per_s: traffic })
    const settler = startSettler(clickhouse)
    // Until days of each age have changed.
    await pause(warm_ms)
    const rows = await measureAll(client, large, { runs, only }, load)
    if (others === 0) await pause(minutes * 60_000)
    const share = await settler.stop()
    if (others === 0) settler_share = share
    const { sent } = await flow.stop()
    console.info(`${load}: ${sent} events`)
    for (const row of rows) await compare(row, { clickhouse, client, app: large })
    busy.push(...rows)
    await settleAll(clickhouse)
  }
  const rows = [...quiet, ...growth, ...busy]
  return { rows: rows.map(asRow), aims: aimsOf({ quiet, growth, busy, disk_bytes, events, settle_s, settler_share }) }
}

interface Figures {
  load: string
  question: Measured
  window: WindowName
  rows: number
  p50_ms: number
  p95_ms: number
  brute_ms: number
  /** Whether every row equals brute force; empty where it was not compared. */
  equal: string
}

const progress = join(import.meta.dirname, '..', 'results', 'reports-progress.jsonl')

/** Keeps figures as they come: a run at 100 million events takes hours and may be broken off. */
function note(figures: Figures) {
  const line = JSON.stringify({ at: new Date().toISOString(), ...figures })
  console.info(line)
  mkdirSync(dirname(progress), { recursive: true })
  appendFileSync(progress, `${line}\n`)
}

const asRow = (figures: Figures): BenchRow => ({ ...figures })
const rounded = (ms: number) => Math.round(ms * 10) / 10

/** Pages of 100 rows from the first to the last, in turn, after one run that warms up. */
async function measureAll(
  client: ReportClient,
  { app_id }: BenchApp,
  { runs, only }: Pick<Setup, 'runs' | 'only'>,
  load: string,
): Promise<Figures[]> {
  const figures: Figures[] = []
  for (const question of (Object.keys(ms_max) as Measured[]).filter((one) => one.includes(only))) {
    for (const window of Object.keys(ms_max[question]) as WindowName[]) {
      const asked = windows[window]
      const all = await client.askAll(questions[question], app_id, asked)
      const times: number[] = []
      for (let run = 0; run < runs; run += 1) {
        const offset = Math.floor((all.length * run) / runs / 100) * 100
        times.push((await client.ask(questions[question], app_id, { ...asked, limit: 100, offset })).ms)
      }
      const [p50_ms, p95_ms] = [rounded(percentile(times, 0.5)), rounded(percentile(times, 0.95))]
      const measured = { load, question, window, rows: all.length, p50_ms, p95_ms, brute_ms: 0, equal: '' }
      note(measured)
      figures.push(measured)
    }
  }
  return figures
}

/** Adds the time of brute force, and whether it finds the same rows. No writer may be at work. */
async function compare(
  figures: Figures,
  { clickhouse, client, app }: Pick<Setup, 'clickhouse' | 'client'> & { app: BenchApp },
) {
  const asked = windows[figures.window]
  const { rows, ms } = await bruteForce(clickhouse, figures.question, app.app_id, asked)
  const found = await client.askAll(questions[figures.question], app.app_id, asked)
  figures.brute_ms = rounded(ms)
  const other = found.findIndex((row, n) => !isDeepStrictEqual(row, rows[n]))
  figures.equal =
    other === -1 && found.length === rows.length ? 'yes' : `no: ${JSON.stringify([found[other], rows[other]])}`
  note(figures)
}

/** Bytes on disk of all tables by the events of all apps. */
async function bytesPerEvent(clickhouse: Clickhouse): Promise<number> {
  const tables = await clickhouse.query<{ table: string; bytes: number }>(
    'SELECT table, sum(bytes_on_disk) AS bytes FROM system.parts WHERE active AND database = currentDatabase() GROUP BY table ORDER BY bytes DESC',
  )
  const [{ events = 0 } = {}] = await clickhouse.query<{ events: number }>(
    'SELECT count() AS events FROM events_raw_v1',
  )
  console.table(tables.slice(0, 12).map(({ table, bytes }) => ({ table, bytes_per_event: rounded(bytes / events) })))
  return rounded(tables.reduce((sum, { bytes }) => sum + bytes, 0) / events)
}

interface Runs {
  quiet: Figures[]
  growth: Figures[]
  busy: Figures[]
  disk_bytes: number
  events: number
  settle_s: number
  settler_share: number
}

function aimsOf({ quiet, growth, busy, disk_bytes, events, settle_s, settler_share }: Runs): Aim[] {
  const aimOf = ({ question, window }: Figures) => ms_max[question][window]!
  const quietOf = ({ question, window }: Figures) =>
    quiet.find((one) => one.question === question && one.window === window)!.p95_ms
  const atMost = (what: string, measured: number, most: number): Aim => ({
    ...{ what, aim: `<= ${most}`, measured: rounded(measured), met: measured <= most },
  })
  const least = Math.min(
    ...quiet.filter(({ window }) => window === 'year').map(({ brute_ms, p50_ms }) => brute_ms / p50_ms),
  )
  const grown = Math.max(
    ...growth.map(
      ({ question, p50_ms }) =>
        quiet.find((one) => one.question === question && one.window === 'year')!.p50_ms / p50_ms,
    ),
  )
  const unequal = [...quiet, ...busy].filter(({ equal }) => equal !== 'yes').length
  return [
    ...quiet.map((one) => atMost(`${one.question}, ${one.window}, p95 ms`, one.p95_ms, aimOf(one))),
    ...busy.map((one) => atMost(`${one.question}, ${one.window}, p95 ms, ${one.load}`, one.p95_ms, 2 * quietOf(one))),
    { what: 'year against brute force, least', aim: '>= 20', measured: rounded(least), met: least >= 20 },
    atMost(`year at ${events / 1e6} M against ${(events * tenth_share) / 1e6} M events, most`, grown, 1.5),
    atMost('bytes on disk an event', disk_bytes, 120),
    atMost('settling everything, s a million events', (settle_s * 1e6) / events, 6),
    atMost('settler beside reports and writer, % of the time', settler_share * 100, 5),
    atMost('reports that differ from brute force', unequal, 0),
  ]
}
