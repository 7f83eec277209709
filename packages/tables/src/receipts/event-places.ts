import { textLiteral, textLiterals, unsigned } from '@tributary/clickhouse/literals'

/** Names an event of an app in every table that has its money or its receipt. */
export interface EventPlace {
  /** UTC date of the event, `YYYY-MM-DD`. */
  day: string
  install_uuid: string
  /** Unsigned 64-bit decimal. */
  event_key: string
  /** Log position; `topic` is `<topic>@<log>`. */
  topic: string
  partition: number
  offset: number
}

/** The same as one text. A record may hold an `event_id` on several days. */
export const placeOf = ({ day, event_key, topic, partition, offset }: EventPlace): string =>
  `${day}/${event_key}/${topic}/${partition}/${offset}`

/** SQL of the columns of a place, of a table with this prefix. */
export const placeColumns = (prefix = ''): string =>
  ['day', 'install_uuid', 'event_key', 'topic', 'partition', 'offset'].map((name) => `${prefix}${name}`).join(', ')

/** A version above those of these rows: no clock decides which of two rows of an event is newer. */
export const versionAfter = (rows: Iterable<{ version: string }>): string =>
  `${[...rows].reduce((max, { version }) => (BigInt(version) > max ? BigInt(version) : max), 0n) + 1n}`

/** The same as values of rows: 64-bit keys and days are text. */
export const placeValues = (prefix = ''): string =>
  `toString(${prefix}day) AS day, ${prefix}install_uuid AS install_uuid, toString(${prefix}event_key) AS event_key,
   ${prefix}topic AS topic, ${prefix}partition AS partition, ${prefix}offset AS offset`

/** SQL condition for the rows of some events of an app: days and installs use the order of the table. */
export const ofPlaces = (app_id: string, places: readonly EventPlace[], prefix = ''): string =>
  `${prefix}app_id = ${textLiteral(app_id)} AND ${prefix}day IN (${textLiterals(places.map(({ day }) => day))})
   AND ${prefix}install_uuid IN (${textLiterals(places.map(({ install_uuid }) => install_uuid))})
   AND (${prefix}day, ${prefix}event_key, ${prefix}topic, ${prefix}partition, ${prefix}offset) IN (${places.map(tupleOf).join(', ')})`

const tupleOf = ({ day, event_key, topic, partition, offset }: EventPlace): string =>
  `(${textLiteral(day)}, ${unsigned(event_key)}, ${textLiteral(topic)}, ${Number(partition)}, ${Number(offset)})`

/** Events of one statement, whose text stays below a MiB. */
const events_max = 1000

/** The events in parts for a statement each. */
export function* inParts<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let at = 0; at < rows.length; at += events_max) yield rows.slice(at, at + events_max)
}

/**
 * A relation of rows with a place and further columns, as SQL for a join: `given` says the type of each column, and makes its literal.
 */
export function valuesSql<Row extends EventPlace>(
  rows: readonly Row[],
  given: Readonly<Record<string, { type: string; literal: (row: Row) => string }>>,
): string {
  const place = ['day Date', 'event_key UInt64', 'topic String', 'partition UInt32', 'offset UInt64']
  const types = [...place, ...Object.entries(given).map(([name, { type }]) => `${name} ${type}`)].join(', ')
  const lines = rows.map((row) => {
    const own = Object.values(given).map(({ literal }) => literal(row))
    return `(${[tupleOf(row).slice(1, -1), ...own].join(', ')})`
  })
  return `values(${textLiteral(types)}, ${lines.join(', ')})`
}
