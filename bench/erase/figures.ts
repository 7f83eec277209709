import type { Aim, BenchRow } from '../bench.ts'
import type { BenchApp } from '../reports/model.ts'
import { objects_of_install } from './audit-objects.ts'
import { compareSamples, reportRatio, type Samples, writerRatio } from './meanwhile.ts'
import type { Erasures } from './tenants.ts'

/** The night of the aim. */
const night = { requests: 1000, events: 100_000_000, minutes_max: 30 }
/** Events of an audit object: a request of an SDK, mostly alone in it. */
const events_of_object = 20
const memory_mb_max = 500
const slower_max = 2

export interface RunFigures {
  large: BenchApp
  /** An app with a single request. */
  tenth: BenchApp
  /** Events of all apps. */
  stored: number
  objects: number
  /** Seconds in which all objects are read, and none rewritten. */
  read_s: number
  erasures: Erasures
  /** When the run began, when reports and the writer stopped, and when the run ended, Unix epoch ms. */
  times: { began_ms: number; alone_ms: number; ended_ms: number }
  cost: { cpu_seconds: number; rss_mb: number; steps: Record<string, number> }
  quiet: Samples
  busy: Samples
  wrong: {
    rows_left: Record<string, number>
    table_rows: string[]
    objects: number
    reports: string[]
  }
}

const rounded = (value: number) => Math.round(value * 10) / 10
const sum = (numbers: Iterable<number>) => [...numbers].reduce((total, number) => total + number, 0)

/** Requests of the large app by time: those beside other work, and those alone. */
function drainedOf({ large, erasures, times: { began_ms, alone_ms } }: RunFigures) {
  const all = erasures.drained_ms.get(large.app_id) ?? []
  const alone = all.filter((at) => at > alone_ms)
  const last_ms = all.at(-1) ?? began_ms
  return {
    seconds: (last_ms - began_ms) / 1000,
    perMinute: (all.length * 60_000) / (last_ms - began_ms),
    beside: ((all.length - alone.length) * 60_000) / (Math.min(alone_ms, last_ms) - began_ms),
    // A run may be over before the others are.
    alone: alone.length === 0 ? 0 : (alone.length * 60_000) / (last_ms - alone_ms),
  }
}

/** Seconds of steps whose names begin so. */
const stepSeconds = ({ cost: { steps } }: RunFigures, begin: string) =>
  sum(Object.entries(steps).flatMap(([step, seconds]) => (step.startsWith(begin) ? [seconds] : [])))

/** Fewer events would extrapolate the constant part of the time too. */
const extrapolated_events_min = 10_000_000

/** Minutes of a night as large as the aim, if all of it grows with the stored rows and objects. */
function nightMinutes(figures: RunFigures): number {
  const { stored, objects, read_s, erasures } = figures
  const growth = night.events / stored
  const drained = drainedOf(figures)
  const drain_min = (night.requests / (drained.alone || drained.perMinute)) * growth
  const parts_min = (stepSeconds(figures, 'rewrite parts') / 60) * growth
  const read_min = (read_s / 60 / objects) * (night.events / events_of_object)
  const rewrite_min = Math.max(0, stepSeconds(figures, 'rewrite audit') - read_s) / 60 / Math.max(1, erasures.objects)
  return drain_min + parts_min + read_min + rewrite_min * night.requests * objects_of_install
}

export function rowsOf(figures: RunFigures): BenchRow[] {
  const { erasures, objects, times, cost } = figures
  const drained = drainedOf(figures)
  const single = (what: string, erasing: number): BenchRow => ({
    ...{
      what,
      samples: 1,
      p50: '',
      p50_erasing: rounded(erasing),
      p50_ratio: '',
      p95: '',
      p95_erasing: '',
      p95_ratio: '',
    },
  })
  return [
    ...compareSamples(figures.quiet, figures.busy),
    single('run, minutes', (times.ended_ms - times.began_ms) / 60_000),
    single('requests a minute', drained.perMinute),
    single('requests a minute, beside reports and writer', drained.beside),
    single('requests a minute, alone', drained.alone),
    single('rows a second', sum(Object.values(erasures.rows)) / drained.seconds),
    single('rows of events a second', (erasures.rows.events_raw_v1 ?? 0) / drained.seconds),
    single('audit objects read a second', objects / figures.read_s),
    single('audit objects rewritten a second, all read', erasures.objects / stepSeconds(figures, 'rewrite audit')),
    single('audit objects rewritten', erasures.objects),
    single('CPU of the eraser, s', cost.cpu_seconds),
    ...Object.entries(cost.steps)
      .toSorted(([, a], [, b]) => b - a)
      .map(([step, seconds]) => single(`${step}, s`, seconds)),
  ]
}

export function aimsOf(figures: RunFigures): Aim[] {
  const { large, tenth, erasures, cost, quiet, busy, wrong } = figures
  const atMost = (what: string, measured: number, most: number): Aim => ({
    ...{ what, aim: `<= ${most}`, measured: rounded(measured), met: measured <= most },
  })
  const [other = Number.POSITIVE_INFINITY] = erasures.drained_ms.get(tenth.app_id) ?? []
  const before = (erasures.drained_ms.get(large.app_id) ?? []).filter((at) => at <= other).length
  const { events, requests, minutes_max } = night
  const left = Object.values(wrong.rows_left)
  for (const [what, names] of Object.entries({ table: wrong.table_rows, report: wrong.reports }))
    for (const name of names) console.info(`wrong ${what}: ${name}`)
  const isLarge = figures.stored >= extrapolated_events_min
  if (!isLarge) console.info(`a night is extrapolated from ${extrapolated_events_min} events on`)
  const aims = [
    atMost(
      `${requests} requests on ${events / 1e6} M events, minutes, extrapolated`,
      nightMinutes(figures),
      minutes_max,
    ),
    atMost('memory of the eraser, MB', cost.rss_mb, memory_mb_max),
    atMost('p95 of reports, with the eraser by without', reportRatio(quiet, busy), slower_max),
    atMost('time of the writer for an event, with the eraser by without', writerRatio(quiet, busy), slower_max),
    atMost('requests drained before the only one of another app', before, 25),
    atMost('requests that are not completed', erasures.open, 0),
    atMost('rows of erased installs', sum(left), 0),
    atMost('tables that lost other rows than the certificates say', wrong.table_rows.length, 0),
    atMost('audit objects with something of an erased install, or without what must stay', wrong.objects, 0),
    atMost('reports that differ from brute force', wrong.reports.length, 0),
  ]
  return isLarge ? aims : aims.slice(1)
}
