import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { openEmbeddedClickhouse } from '@tributary/clickhouse/embedded'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { type Bench, numberArgument, profileFlags, textArgument } from '../bench.ts'
import { startProcess } from '../process/drive-process.ts'
import { openReportClient, type ReportClient } from '../reports/ask.ts'
import { bruteForce, questions } from '../reports/brute-force.ts'
import { type Filled, fillOnce, findFilled } from '../reports/filled.ts'
import { waitForMerges } from '../writer/prefill.ts'
import { countWrong, fillObjects, objects_of_install, readObjects } from './audit-objects.ts'
import type { EraserOrder } from './eraser.ts'
import { aimsOf, rowsOf } from './figures.ts'
import { openClient, startLinkedEngine } from './linked-engine.ts'
import { openMeanwhile, reports, windows } from './meanwhile.ts'
import { countOwn, countRows, pickInstalls } from './stored-rows.ts'
import { makeApps, readErasures, requestErasures } from './tenants.ts'

/** Measures one run of the eraser over a large app, with reports and the writer at work, and checks what is left. */
export const bench: Bench = {
  name: 'erase',
  title:
    'erase: a run of the eraser over a large app, reports and the writer meanwhile (--events 2000000 --requests 500 --objects N --apps 0 --rounds 10; N is 40000 at most by default, a 20th of the events at least those of the requests; --keep DIR fills a folder once, as `reports` does, or uses one that `reports` has filled; the run works on links of its files, or copies where TMPDIR is on another disk, and leaves it as it is)',
  async run(args) {
    const requests = numberArgument(args, 'requests', 500)
    const kept = textArgument(args, 'keep')
    const folder = kept ?? mkdtempSync(join(tmpdir(), 'tributary-bench-erase-'))
    try {
      const filled = await fill(folder, {
        events: numberArgument(args, 'events', 2_000_000),
        apps: numberArgument(args, 'apps', 0),
      })
      const { events } = filled.large
      const objects = Math.max(
        requests * objects_of_install,
        numberArgument(args, 'objects', Math.min(40_000, events / 20)),
      )
      const rounds = numberArgument(args, 'rounds', 10)
      return await measure({ folder, filled, requests, objects, rounds, flags: profileFlags(args) })
    } finally {
      if (kept === undefined) rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** The apps that the folder holds. Fills it first unless it is filled to its end. */
async function fill(folder: string, size: { events: number; apps: number }): Promise<Filled> {
  const found = findFilled(folder)
  if (found !== null) return found
  const clickhouse = await openEmbeddedClickhouse({ data_dir: folder })
  try {
    await migrateClickhouse({ clickhouse })
    return await fillOnce(clickhouse, folder, size)
  } finally {
    await clickhouse.close()
  }
}

interface Setup {
  folder: string
  filled: Filled
  requests: number
  objects: number
  /** Rounds of reports and the writer, without the eraser and with it. */
  rounds: number
  flags: readonly string[]
}

async function measure({ folder, filled: { large, tenth }, requests, objects, rounds, flags }: Setup) {
  const audit_dir = mkdtempSync(join(tmpdir(), 'tributary-bench-audit-'))
  const printStep = startProgress()
  const [engine, db] = await Promise.all([startLinkedEngine(folder), openTestPostgres()])
  printStep('the engine runs on links of the folder')
  const clickhouse = await openClient(engine.url)
  try {
    await migrateClickhouse({ clickhouse })
    const client = await openReportClient(clickhouse)
    const meanwhile = await openMeanwhile(clickhouse, client, large.app_id)
    const installs = new Map([
      [large.app_id, await pickInstalls(clickhouse, large.app_id, requests)],
      [tenth.app_id, await pickInstalls(clickhouse, tenth.app_id, 1)],
    ])
    const company_id = await makeApps(db.pool, [...installs.keys()])
    const erased = installs.get(large.app_id)!
    printStep('installs are picked')
    const holdings = await fillObjects({ dir: audit_dir, company_id, app_id: large.app_id, objects, erased })
    printStep(`${objects} audit objects are written`)
    const read_s = await readObjects(audit_dir, company_id, large.app_id)
    printStep(`all audit objects were read in ${Math.round(read_s * 10) / 10} s`)
    const before = await countRows(clickhouse, meanwhile.writer_app)
    printStep('rows of all tables are counted')
    const doubled = before.event_keys_v1! - before.events_raw_v1!
    // An erasure takes both rows of a name, which its certificate counts once.
    if (doubled !== 0) console.info(`the folder is at fault: it has ${doubled} more keys than events`)
    await meanwhile.warm()
    printStep('reports and the writer are warm')
    const quiet = await meanwhile.measure(rounds, () => false)
    printStep('measured without the eraser')

    const run = await requestErasures(db.pool, installs)
    const order: EraserOrder = { clickhouse: engine.url, postgres: db.url, audit_dir, run }
    const eraser = await startProcess(join(import.meta.dirname, 'eraser.ts'), order, flags)
    const began_ms = Date.now()
    eraser.startWatch()
    let ended_ms = 0
    // A word at a time: the process must wait for the next one.
    const ending = pause(100)
      .then(() => eraser.stopWatch())
      .finally(() => {
        ended_ms = Date.now()
      })
    ending.catch(() => {}) // the `await` below rejects with it
    const busy = await meanwhile.measure(rounds, () => ended_ms > 0)
    const alone_ms = Date.now()
    printStep(`measured with the eraser, for ${Math.round((alone_ms - began_ms) / 1000)} s`)
    const cost = await ending
    printStep(`the run took ${Math.round((ended_ms - began_ms) / 100) / 10} s`)
    await eraser.stop()

    const erasures = await readErasures(db.pool)
    const wrong = {
      rows_left: await countOwn(clickhouse, installs),
      table_rows: wrongTables(before, await countRows(clickhouse, meanwhile.writer_app), erasures.rows),
      objects: await countWrong(holdings),
      reports: await unequalReports(clickhouse, client, large.app_id),
    }
    printStep('what is left was checked')
    await client.close()
    const times = { began_ms, alone_ms, ended_ms }
    const run_figures = {
      large,
      tenth,
      stored: before.events_raw_v1!,
      objects,
      read_s,
      erasures,
      times,
      cost,
      quiet,
      busy,
      wrong,
    }
    return { rows: rowsOf(run_figures), aims: aimsOf(run_figures) }
  } finally {
    await clickhouse.close()
    await Promise.all([engine.stop(), db.close()])
    rmSync(audit_dir, { recursive: true, force: true })
  }
}

/** Prints each step that is done, with the seconds since the last line. A run that is ended early has printed all that it knows. */
function startProgress(): (what: string) => void {
  let since = performance.now()
  return (what) => {
    const now = performance.now()
    console.info(`${what} (${Math.round((now - since) / 100) / 10} s)`)
    since = now
  }
}

/** Tables that certificates count in another way than by their rows, or not at all. */
const countedOtherwise = new Set(['event_installs_per_day_v1', 'revenue_cancelled_v1'])

/** Tables that lost more rows, or fewer, than the certificates say; with both numbers. */
const wrongTables = (
  before: Record<string, number>,
  after: Record<string, number>,
  certified: Record<string, number>,
): string[] =>
  Object.keys(before).flatMap((table) => {
    const [lost, counted] = [before[table]! - after[table]!, certified[table] ?? 0]
    return countedOtherwise.has(table) || lost === counted
      ? []
      : [`${table} lost ${lost} rows, certified are ${counted}`]
  })

/** Reports that are not what brute force finds in the rows that remain. */
async function unequalReports(clickhouse: Clickhouse, client: ReportClient, app_id: string): Promise<string[]> {
  await waitForMerges(clickhouse)
  const unequal: string[] = []
  for (const report of reports) {
    for (const [window, asked] of Object.entries(windows)) {
      console.info(`compares the report ${report}, ${window}, with brute force`)
      const { rows } = await bruteForce(clickhouse, report, app_id, asked)
      const found = await client.askAll(questions[report], app_id, asked)
      if (!isDeepStrictEqual(found, rows)) unequal.push(`${report}, ${window}`)
    }
  }
  return unequal
}
