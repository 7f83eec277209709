import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Flight, readFlights, scheduledAt } from './flights.ts'

/**
 * Converts flights to events, one JSON line per row, in the same order: line n of the output is line n + 1 of the CSV. A
 * row without a tail number becomes an event without `install_uuid`, which the service rejects.
 */
export async function convert(from: string, to: string): Promise<void> {
  const installs = await firstDepartures(from)
  const lines = async function* () {
    for await (const flight of readFlights(from)) yield `${JSON.stringify(toEvent(flight, installs))}\n`
  }
  await pipeline(Readable.from(lines()), createWriteStream(to))
}

/** The `event_id` of the earliest scheduled departure that took place, by aircraft. */
async function firstDepartures(path: string): Promise<Map<string, string>> {
  const first = new Map<string, { at_ms: number; event_id: string }>()
  for await (const flight of readFlights(path)) {
    const { tailnum = 'NA', dep_time } = flight
    if (tailnum === 'NA' || dep_time === 'NA') continue
    const at_ms = scheduledAt(flight)
    if (at_ms < (first.get(tailnum)?.at_ms ?? Number.POSITIVE_INFINITY)) {
      first.set(tailnum, { at_ms, event_id: eventId(flight) })
    }
  }
  return new Map([...first].map(([tailnum, { event_id }]) => [tailnum, event_id]))
}

function toEvent(flight: Flight, installs: ReadonlyMap<string, string>): object {
  const { tailnum = 'NA', carrier, flight: number, origin, dest } = flight
  const event_id = eventId(flight)
  const departed = flight.dep_time !== 'NA'
  const name = installs.get(tailnum) === event_id ? 'app_install' : departed ? 'departure' : 'cancelled'
  const measured = ['dep_time', 'dep_delay', 'arr_delay', 'air_time', 'distance'].flatMap((column) =>
    flight[column] === 'NA' ? [] : [[column, Number(flight[column])]],
  )
  return {
    event_id,
    event_name: name,
    event_ts_ms: scheduledAt(flight),
    ...(tailnum === 'NA' ? {} : { install_uuid: tailnum }),
    ...(departed ? { revenue: Number(flight.distance) / 100, currency: 'USD' } : {}),
    props: { carrier, flight: number, origin, dest, ...Object.fromEntries(measured) },
  }
}

/** Unique in the whole year: no flight number leaves one airport twice in a minute. */
function eventId(flight: Flight): string {
  const minute = new Date(scheduledAt(flight)).toISOString().slice(0, 16)
  return `${flight.origin}-${flight.carrier}${flight.flight}-${minute}Z`
}

if (import.meta.main) {
  const [from, to] = process.argv.slice(2)
  if (from === undefined || to === undefined) {
    process.stderr.write('Usage: npx node examples/flights/convert.ts FLIGHTS.csv.gz EVENTS.jsonl\n')
    process.exitCode = 2
  } else await convert(from, to)
}
