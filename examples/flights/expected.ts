import { type Flight, readFlights, scheduledAt } from './flights.ts'

export interface ExpectedRow {
  day: string
  event_name: string
  events: number
  unique_installs: number
  revenue_usd: number
}

export interface Expected {
  /** The expected rows of the events report for the window, in its order. */
  rows: ExpectedRow[]
  /** Rows of the whole file with a tail number, and rows without. */
  accepted: number
  rejected: number
}

/** Counts the events from `since_ms` to before `until_ms` directly from the CSV, independently of convert.ts. */
export async function expectedReport(path: string, since_ms: number, until_ms: number): Promise<Expected> {
  const flights: Flight[] = []
  let rejected = 0
  for await (const flight of readFlights(path)) {
    if (flight.tailnum === 'NA') rejected += 1
    else flights.push(flight)
  }
  // A stable sort, so that two flights of an aircraft in one minute keep the order of the file.
  flights.sort((a, b) => scheduledAt(a) - scheduledAt(b))
  const seen = new Set<string>()
  const groups = new Map<string, { installs: Set<string>; events: number; cents: number }>()
  for (const flight of flights) {
    const { tailnum = '', distance = '' } = flight
    const cancelled = flight.dep_time === 'NA'
    const event_name = cancelled ? 'cancelled' : seen.has(tailnum) ? 'departure' : 'app_install'
    if (!cancelled) seen.add(tailnum)
    const at_ms = scheduledAt(flight)
    if (at_ms < since_ms || at_ms >= until_ms) continue
    const key = `${new Date(at_ms).toISOString().slice(0, 10)} ${event_name}`
    const group = groups.get(key) ?? { installs: new Set(), events: 0, cents: 0 }
    groups.set(key, group)
    group.installs.add(tailnum)
    group.events += 1
    group.cents += cancelled ? 0 : Number(distance)
  }
  const rows = [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, group]) => toRow(key, group))
  return { rows, accepted: flights.length, rejected }
}

function toRow(key: string, group: { installs: Set<string>; events: number; cents: number }): ExpectedRow {
  const [day = '', event_name = ''] = key.split(' ')
  return {
    day,
    event_name,
    events: group.events,
    unique_installs: group.installs.size,
    revenue_usd: group.cents / 100,
  }
}

if (import.meta.main) {
  const [path, since, until] = process.argv.slice(2)
  if (path === undefined || since === undefined || until === undefined) {
    process.stderr.write('Usage: npx node examples/flights/expected.ts FLIGHTS.csv.gz 2013-01-01 2013-02-01\n')
    process.exitCode = 2
  } else {
    const { rows } = await expectedReport(path, Date.parse(since), Date.parse(until))
    const head = ['day', 'event_name', 'events', 'unique_installs', 'revenue_usd']
    const lines = rows.map((row) => [row.day, row.event_name, row.events, row.unique_installs, row.revenue_usd])
    process.stdout.write([head, ...lines].map((line) => `${line.join('\t')}\n`).join(''))
  }
}
