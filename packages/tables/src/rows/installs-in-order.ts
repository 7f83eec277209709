import type { Readable } from 'node:stream'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import { memorySettings, settingsSql } from '@tributary/clickhouse/settings-sql'
import type { Decision } from '@tributary/contracts/attribution/decision'
import { hour_ms, limits } from '@tributary/contracts/limits'
import { isBehind } from '@tributary/domain/attribute/decisions'
import { utcDay } from '@tributary/domain/utc-day'
import { decidedAt } from '../attribution/verdicts.ts'

/** The install times of an app that are read. */
export interface InstallsOfWindow {
  app_id: string
  since_ms: number
  /** Exclusive. */
  until_ms: number
}

/** Installs that one statement sorts: each 60 MB of decisions are a file of the sort, which takes 2 MB of memory. */
const slice_installs_max = 500_000

/**
 * Reads the newest decisions on the installs of a window, those that wait for a click included, in pages and in the order of `byInstall`.
 * Statements sort them on the disk, a slice of the window each: `installs_v1` is sorted by install, so that each one reads the whole app.
 * An install whose time changes meanwhile may come twice, or not.
 */
export async function* readInstallsInOrder(
  clickhouse: Pick<Clickhouse, 'query' | 'stream'>,
  window: InstallsOfWindow,
  page_installs: number,
  signal: AbortSignal,
  slice_installs = slice_installs_max,
): AsyncGenerator<Decision[]> {
  let page: Decision[] = []
  for (const slice of await findSlices(clickhouse, window, slice_installs)) {
    signal.throwIfAborted()
    for await (const decision of readSlice(clickhouse, slice, signal)) {
      page.push(decision)
      if (page.length < page_installs) continue
      yield page
      page = []
    }
  }
  if (page.length > 0) yield page
}

/** Cuts a window between hours, so that slices of more than an hour have no more than so many rows. */
async function findSlices(
  clickhouse: Pick<Clickhouse, 'query'>,
  window: InstallsOfWindow,
  rows_max: number,
): Promise<InstallsOfWindow[]> {
  const hours = await clickhouse.query<{ hour: number; rows: number }>(
    `SELECT intDiv(i.installed_at_ms, ${hour_ms}) AS hour, toInt64(count()) AS rows FROM installs_v1 AS i
     WHERE ${inWindow(window)} AND i.sign = 1 GROUP BY hour ORDER BY hour SETTINGS ${settingsSql(settings)}`,
  )
  const slices: InstallsOfWindow[] = []
  let since_ms = window.since_ms
  let held = 0
  for (const { hour, rows } of hours) {
    if (held > 0 && held + rows > rows_max) {
      slices.push({ ...window, since_ms, until_ms: hour * hour_ms })
      since_ms = hour * hour_ms
      held = 0
    }
    held += rows
  }
  return [...slices, { ...window, since_ms }]
}

async function* readSlice(
  clickhouse: Pick<Clickhouse, 'stream'>,
  slice: InstallsOfWindow,
  signal: AbortSignal,
): AsyncGenerator<Decision> {
  const stream = await clickhouse.stream(standingSql(slice), { format: 'JSONEachRow', signal })
  let held: Decision | null = null
  for await (const decision of readDecisions(stream)) {
    // The decisions on one install are neighbours.
    if (held?.install_uuid === decision.install_uuid) {
      if (!isBehind(decision.decided_at, held.decided_at)) held = decision
      continue
    }
    if (held !== null) yield held
    held = decision
  }
  if (held !== null) yield held
}

/** Counts the installs of a window that have a verdict. */
export async function countInstalls(clickhouse: Pick<Clickhouse, 'query'>, window: InstallsOfWindow): Promise<number> {
  const { since_ms, until_ms } = window
  const [row] = await clickhouse.query<{ installs: number }>(
    `SELECT toInt64(sum(sign)) AS installs FROM installs_by_day_v1 AS i FINAL
     WHERE ${inWindow(window)} AND i.day >= ${textLiteral(utcDay(since_ms))} AND i.day <= ${textLiteral(utcDay(until_ms))}
     SETTINGS ${settingsSql(settings)}`,
  )
  return row?.installs ?? 0
}

async function* readDecisions(stream: Readable): AsyncGenerator<Decision> {
  let rest = ''
  for await (const chunk of stream.setEncoding('utf8')) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()!
    for (const line of lines) yield JSON.parse(JSON.parse(line).decision)
  }
}

const inWindow = ({ app_id, since_ms, until_ms }: InstallsOfWindow): string =>
  `i.app_id = ${textLiteral(app_id)} AND i.installed_at_ms >= ${Number(since_ms)} AND i.installed_at_ms < ${Number(until_ms)}`

/** SQL of `byInstall`. */
const order = [
  'i.installed_at_ms',
  "substringIndex(i.event_topic, '@', 1)",
  ...['i.event_partition', 'i.event_topic', 'i.event_offset', 'i.event_index'],
].join(', ')

/** SQL of the time and the place of an install, as one number. */
const standing = 'sipHash64(installed_at_ms, event_topic, event_partition, event_offset, event_index)'

/** The rows of an install whose time or place has changed count where its newest decision has it. There are few of those. */
function standingSql(window: InstallsOfWindow): string {
  const decisions = `installs_v1 WHERE app_id = ${textLiteral(window.app_id)} AND sign = 1`
  const byInstall = 'GROUP BY app_id, install_uuid'
  const moved = `SELECT install_uuid FROM ${decisions} ${byInstall} HAVING min(${standing}) != max(${standing})`
  const newest = `SELECT install_uuid, argMax(${standing}, (${decidedAt.join(', ')})) FROM ${decisions} AND install_uuid IN (${moved}) ${byInstall}`
  return `SELECT decision
  FROM installs_v1 AS i
  WHERE ${inWindow(window)} AND i.sign = 1
    AND (i.install_uuid NOT IN (${moved}) OR (i.install_uuid, ${standing}) IN (${newest}))
  ORDER BY ${order} SETTINGS ${settingsSql({ ...settings, ...sortSettings })}`
}

const settings = { max_threads: 1, ...memorySettings(limits.what_if_memory_bytes_max) }

/**
 * Decisions are long: few rows at a time. Groups are those of the key of the table, so that memory holds one of them.
 */
const sortSettings = {
  max_block_size: 512,
  max_bytes_before_external_sort: 60_000_000,
  prefer_external_sort_block_bytes: 256 * 1024,
  temporary_files_buffer_size: 256 * 1024,
  optimize_read_in_order: 0,
  optimize_aggregation_in_order: 1,
}
