import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { day_ms } from '@tributary/contracts/limits'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { type BenchRow, percentile } from '../bench.ts'
import type { ReportClient } from '../reports/ask.ts'
import { questions as asked, type Measured } from '../reports/brute-force.ts'
import { now_ms } from '../reports/model.ts'
import { type EventLoad, newAppId } from '../writer/events.ts'
import { fillLog, measureWriter } from '../writer/stages.ts'

/** Events that the writer takes from its log at a time. */
const burst_events = 40_000
const page_rows = 100
const partitions = 4

export const reports: readonly Measured[] = ['attribution', 'events', 'revenue', 'cohorts', 'ltv']
export const windows = {
  '30 days': { since_ms: now_ms - 30 * day_ms, until_ms: now_ms },
  year: { since_ms: now_ms - 365 * day_ms, until_ms: now_ms },
}
type WindowName = keyof typeof windows

/** Times of reports, in ms, and rates of the writer, in events/s. */
export interface Samples {
  reports: Map<string, number[]>
  writer: number[]
}

/** Reports on an app, and a writer of another one, in turn: neither slows the other. */
export async function openMeanwhile(clickhouse: Clickhouse, client: ReportClient, app_id: string) {
  const broker: Broker = memoryBroker(partitions, Date.now)
  const writer_app = newAppId()
  const rowsOf = new Map<string, number>()
  let bursts = 0

  async function burst(): Promise<number> {
    bursts += 1
    const load: EventLoad = { app_id: writer_app, seed: `burst-${bursts}`, days: 1, until_ms: Date.now() }
    await fillLog(broker, load, burst_events)
    const { rows, seconds } = await measureWriter(broker, clickhouse, burst_events)
    return rows / seconds
  }
  const questions = reports.flatMap((report) =>
    (Object.keys(windows) as WindowName[]).map((window) => ({ report, window, name: `${report}, ${window}` })),
  )
  return {
    writer_app,
    /** Asks for all pages once, which warms up, and lets the writer run. */
    async warm() {
      for (const { report, window, name } of questions)
        rowsOf.set(name, (await client.askAll(asked[report], app_id, windows[window])).length)
      await burst()
    },
    /** One page of each report in each window, and one burst of the writer, `rounds` times, until `over`. */
    async measure(rounds: number, over: () => boolean): Promise<Samples> {
      const samples: Samples = { reports: new Map(questions.map(({ name }) => [name, []])), writer: [] }
      for (let round = 0; round < rounds; round += 1) {
        for (const { report, window, name } of questions) {
          const offset = Math.floor((rowsOf.get(name)! * round) / rounds / page_rows) * page_rows
          const { ms } = await client.ask(asked[report], app_id, { ...windows[window], limit: page_rows, offset })
          if (over()) return samples
          samples.reports.get(name)!.push(ms)
        }
        const rate = await burst()
        if (over()) return samples
        samples.writer.push(rate)
      }
      return samples
    },
  }
}

const rounded = (value: number) => Math.round(value * 10) / 10

/** A row for each report, and one for the writer. */
export function compareSamples(quiet: Samples, busy: Samples): BenchRow[] {
  const rows = [...quiet.reports].map(([what, ms]) => ({
    ...{ what, samples: busy.reports.get(what)!.length },
    ...ratioRow(ms, busy.reports.get(what)!),
  }))
  return [...rows, { what: 'writer, us an event', samples: busy.writer.length, ...ratioRow(us(quiet), us(busy)) }]
}

const us = ({ writer }: Samples) => writer.map((rate) => 1e6 / rate)

function ratioRow(quiet: readonly number[], busy: readonly number[]) {
  const [p50, p95] = [0.5, 0.95].map((p) => [percentile(quiet, p), percentile(busy, p)] as const)
  return {
    ...{ p50: rounded(p50![0]), p50_erasing: rounded(p50![1]), p50_ratio: rounded(p50![1] / p50![0]) },
    ...{ p95: rounded(p95![0]), p95_erasing: rounded(p95![1]), p95_ratio: rounded(p95![1] / p95![0]) },
  }
}

/** How much slower the slowest twentieth of all answers is, each answer measured by the quiet median of its report. */
export function reportRatio(quiet: Samples, busy: Samples): number {
  const p95 = ({ reports }: Samples) =>
    percentile(
      [...reports].flatMap(([name, ms]) => {
        const median = percentile(quiet.reports.get(name)!, 0.5)
        return ms.map((one) => one / median)
      }),
      0.95,
    )
  return p95(busy) / p95(quiet)
}

/** Time of an event at the median burst, by that without the eraser. */
export const writerRatio = (quiet: Samples, busy: Samples): number =>
  percentile(quiet.writer, 0.5) / percentile(busy.writer, 0.5)
