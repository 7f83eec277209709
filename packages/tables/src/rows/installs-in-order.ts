import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import type { Place } from '@tributary/contracts/attribution/found'
import { utcDay } from '@tributary/domain/utc-day'

/** An install with the fields that order it (`byInstall`). */
export interface InstallInOrder {
  install_uuid: string
  installed_at_ms: number
  place: Place
}

/** The install times of an app that are read. */
export interface InstallsOfWindow {
  app_id: string
  since_ms: number
  /** Exclusive. */
  until_ms: number
}

/** Rows of one statement. Each reads whole columns of the app, because `installs_v1` is not sorted by time. */
const statement_rows = 50_000
const settings = `max_threads = 1, max_memory_usage = 400000000`

/**
 * Reads the decided installs of a window, those that wait for a click included, in pages and in the order of `byInstall`. An install
 * whose time has changed comes once for each of its times.
 */
export async function* readInstallsInOrder(
  clickhouse: Pick<Clickhouse, 'query'>,
  window: InstallsOfWindow,
  page_installs: number,
): AsyncGenerator<InstallInOrder[]> {
  for (let after: Row | null = null; ; ) {
    const rows: Row[] = await clickhouse.query<Row>(pageSql(window, after))
    // The rows of one install at one place are neighbours.
    const installs = rows.filter((row, n) => n === 0 || orderOf(rows[n - 1]!) !== orderOf(row))
    for (let at = 0; at < installs.length; at += page_installs) {
      yield installs.slice(at, at + page_installs).map(({ install_uuid, installed_at_ms, ...place }) => ({
        ...{ install_uuid, installed_at_ms, place },
      }))
    }
    if (rows.length < statement_rows) return
    after = rows.at(-1)!
  }
}

/** Counts the installs of a window that have a verdict. */
export async function countInstalls(clickhouse: Pick<Clickhouse, 'query'>, window: InstallsOfWindow): Promise<number> {
  const [row] = await clickhouse.query<{ installs: number }>(
    `SELECT toInt64(sum(sign)) AS installs FROM installs_by_day_v1 AS i FINAL WHERE ${inWindow(window)} SETTINGS ${settings}`,
  )
  return row?.installs ?? 0
}

type Row = Omit<InstallInOrder, 'place'> & Place

const orderOf = ({ installed_at_ms, topic, partition, offset, index }: Row): string =>
  [installed_at_ms, topic, partition, offset, index].join('/')

const inWindow = ({ app_id, since_ms, until_ms }: InstallsOfWindow): string =>
  `i.app_id = ${textLiteral(app_id)}
   AND i.day >= ${textLiteral(utcDay(since_ms))} AND i.day <= ${textLiteral(utcDay(until_ms))}
   AND i.installed_at_ms >= ${Number(since_ms)} AND i.installed_at_ms < ${Number(until_ms)}`

/** SQL of `byInstall`. */
const order = [
  'i.installed_at_ms',
  "substringIndex(i.event_topic, '@', 1)",
  ...['i.event_partition', 'i.event_topic', 'i.event_offset', 'i.event_index'],
].join(', ')

function pageSql(window: InstallsOfWindow, after: Row | null): string {
  const behind = after === null ? '' : `AND (${order}) > (${literalsOf(after)})`
  return `SELECT i.install_uuid AS install_uuid, toInt64(i.installed_at_ms) AS installed_at_ms, i.event_topic AS topic,
    i.event_partition AS partition, toInt64(i.event_offset) AS offset, i.event_index AS index
  FROM installs_v1 AS i WHERE ${inWindow(window)} AND i.sign = 1 ${behind}
  ORDER BY ${order} LIMIT ${statement_rows} SETTINGS ${settings}`
}

const literalsOf = ({ installed_at_ms, topic, partition, offset, index }: Row): string => {
  const name = topic.slice(0, topic.lastIndexOf('@'))
  return [installed_at_ms, textLiteral(name), partition, textLiteral(topic), offset, index].join(', ')
}
