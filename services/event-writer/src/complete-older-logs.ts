import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { readViewSources } from '@tributary/clickhouse/view-sources'
import type { Logger } from 'pino'
import { countedRows, countedTables, fillTable, sourceShape, tables } from './written-rows.ts'

export interface OlderLogs {
  /** Name of the topic, and the source that is begun now. */
  topic: string
  source: string
  partition: number
}

/**
 * Completes what an older log of a partition left half-done, before the first batch of a new one: its open batch is not
 * known any more, and events without keys would not be found as duplicates. Only the last block of a log can be
 * half-done, and its keys are written last: rows without keys are that block. Nothing of it may be at work any more.
 */
export async function completeOlderLogs(clickhouse: Clickhouse, at: OlderLogs, logger?: Logger): Promise<void> {
  const rows = await rowsByLog(clickhouse, 'events_raw_v1', at)
  if (rows.size === 0) return
  logger?.warn(
    { partition: at.partition, source: at.source, older: rows.size },
    'a new log is begun beside tables of older ones: what these held unwritten is in the audit store alone, see `tributary replay --from-audit --dry-run`',
  )
  const keys = await rowsByLog(clickhouse, 'event_keys_v1', at)
  const counted = await Promise.all(countedTables.map((table) => countedByLog(clickhouse, table, at)))
  for (const [source, count] of rows) {
    if ([keys, ...counted].every((held) => held.get(source) === count)) continue
    if (!sourceShape.test(source)) throw new TypeError('source of rows has another shape')
    await completeLog(clickhouse, { source, partition: at.partition }, count, logger)
  }
}

/** Rows of the older logs of a partition, by source. */
async function rowsByLog(clickhouse: Clickhouse, table: string, { topic, source, partition }: OlderLogs) {
  const rows = await clickhouse.query<{ source: string; rows: number }>(
    `SELECT toString(topic) AS source, count() AS rows FROM ${table}
     WHERE partition = {partition:UInt32} AND startsWith(topic, {prefix:String}) AND topic != {source:String} GROUP BY topic`,
    { partition, prefix: `${topic}@`, source },
  )
  return new Map(rows.map((row) => [row.source, row.rows]))
}

async function countedByLog(clickhouse: Clickhouse, table: string, { topic, partition }: OlderLogs) {
  const rows = await clickhouse.query<{ counter: string; rows: number }>(
    `SELECT toString(app_id) AS counter, sum(events) AS rows FROM ${table}
     WHERE startsWith(app_id, {prefix:String}) AND endsWith(app_id, {suffix:String}) GROUP BY app_id`,
    { prefix: `/${topic}@`, suffix: `/${partition}` },
  )
  return new Map(rows.map(({ counter, rows: count }) => [counter.slice(1, counter.lastIndexOf('/')), count]))
}

type Log = Pick<OlderLogs, 'source' | 'partition'>

async function completeLog(clickhouse: Clickhouse, log: Log, rows: number, logger?: Logger): Promise<void> {
  const ofLog = `topic = '${log.source}' AND partition = ${log.partition}`
  const keyed = `(SELECT offset, event_key, key_day FROM event_keys_v1 WHERE ${ofLog})`
  const lacking = `${ofLog} AND (offset, event_key, key_day) NOT IN ${keyed}`
  const [without] = await clickhouse.query<{ rows: number; first: number; last: number }>(
    `SELECT count() AS rows, min(offset) AS first, max(offset) AS last FROM events_raw_v1 WHERE ${lacking}`,
  )
  if (without === undefined) return
  if (without.rows > 0) logger?.warn({ ...log, ...without }, 'an older log left a block half-done, it is completed')
  const views = await readViewSources(clickhouse)
  for (const [table, how] of Object.entries(tables)) {
    const view = views.get(table)
    if (view === undefined) throw new Error(`no view fills ${table}`)
    if (how === 'counted') {
      const missing = rows - (await countedRows(clickhouse, table, log))
      if (missing === 0) continue
      if (missing !== without.rows) {
        logger?.error(
          { ...log, table, missing, ...without },
          'a table lacks rows of older blocks: run `tributary rebuild`',
        )
        continue
      }
    }
    if (without.rows === 0) continue
    const held = how === 'positions' ? `AND offset NOT IN (SELECT offset FROM ${table} WHERE ${ofLog})` : ''
    // The money of a block is in its own table by position, whose rows its keys table reads.
    const which =
      view.source === 'events_raw_v1' ? lacking : `${ofLog} AND offset BETWEEN ${without.first} AND ${without.last}`
    const relation = `(SELECT * FROM ${view.source} WHERE ${which} ${held})`
    await fillTable(
      clickhouse,
      view,
      relation,
      `event-writer/${log.source}/${log.partition}/${table}/${without.first}-${without.last}.${without.rows}`,
    )
  }
}
