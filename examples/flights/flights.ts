import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'

/** One row of the file: column to text, `NA` where unknown. */
export type Flight = Record<string, string>

/** Rows of `flights-*.csv.gz` in the order of the file. Its values hold no commas and no quotes. */
export async function* readFlights(path: string): AsyncGenerator<Flight> {
  const file = createReadStream(path)
  const gunzip = createGunzip()
  file.on('error', (error) => gunzip.destroy(error)).pipe(gunzip)
  let columns: string[] | null = null
  for await (const line of createInterface({ input: gunzip })) {
    const values = line.split(',')
    if (columns === null) columns = values
    else yield Object.fromEntries(columns.map((column, index) => [column, values[index] ?? '']))
  }
}

/** Scheduled departure in Unix ms: `time_hour` is the scheduled hour in UTC, `minute` the minute of the hour. */
export const scheduledAt = (flight: Flight): number =>
  Date.parse(flight.time_hour ?? '') + Number(flight.minute) * 60_000
