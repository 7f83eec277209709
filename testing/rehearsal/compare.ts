import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { verifyEvents } from '@tributary/testing/verify-events'
import { comparePostbacks } from '../fleet/soak/postbacks.ts'
import { follow, keyOf, type Sent } from './sent.ts'
import type { Stage } from './stage.ts'

/** A thing that was sent, or that the documents say, and what is there at the end. */
export interface Compared {
  what: string
  expected: number | string
  found: number | string
}

export interface Lost {
  /** An install that was erased after the backup of PostgreSQL. */
  erased: string
  /** A link that was made after the backup of PostgreSQL. */
  late_link_id: string
}

const written_ms_max = 180_000
const since_ms = () => Date.now() - 5 * 86_400_000

/** Compares all that is stored with all that was sent. Nothing is sent or written any more. */
export async function compare(stage: Stage, sent: Sent, { erased, late_link_id }: Lost): Promise<Compared[]> {
  const { fleet, links } = stage
  const { clickhouse } = fleet
  const acknowledged = [...sent.load.acknowledged, ...sent.phones]
  const { lost, doubled, half, differing } = await verifyEvents(clickhouse, acknowledged, [...sent.load.unanswered])
  const postbacks = await comparePostbacks(fleet, sent.postbacks, written_ms_max)
  const differingTables = Object.entries(differing).filter(([, groups]) => groups > 0)
  const count = (sql: string, params = {}) => countOf(clickhouse, sql, params)
  const none = (what: string, found: number): Compared => ({ what, expected: 0, found })
  return [
    none('events that are lost', lost),
    none('events that are there twice', doubled),
    none('requests that are there in part', half),
    { what: 'tables that differ from the raw rows', expected: '', found: differingTables.map(([name]) => name).join() },
    { what: 'clicks', expected: sent.clicks, found: await count('SELECT count() AS n FROM clicks_raw_v1 FINAL') },
    none('postbacks that are lost', postbacks.postbacks_lost),
    none('postbacks that nobody sent', postbacks.postbacks_unknown),
    none(
      'installs with another number of verdicts than one',
      await count(
        `SELECT count() AS n FROM (SELECT sum(sign) AS verdicts FROM installs_v1 FINAL
         GROUP BY app_id, install_uuid HAVING verdicts != 1)`,
      ),
    ),
    none(
      'rows of the erased install',
      (await count('SELECT count() AS n FROM events_raw_v1 WHERE install_uuid = {erased:String}', { erased })) +
        (await count('SELECT count() AS n FROM installs_v1 WHERE install_uuid = {erased:String}', { erased })),
    ),
    ...(await compareReports(stage, sent)),
    {
      what: 'a link that was made after the backup of PostgreSQL answers',
      expected: 404,
      found: await follow(`${links.url}/l/${late_link_id}`, '198.51.100.1'),
    },
  ]
}

/** Each number of the reports about events, installs and costs. */
async function compareReports(stage: Stage, sent: Sent): Promise<Compared[]> {
  const compared: Compared[] = []
  for (const { app_id, server_key } of stage.fleet.tenants) {
    const events = sumBy(await readReport(stage, server_key, 'events'), 'event_name', 'events')
    const installs = sumBy(await readReport(stage, server_key, 'attribution'), 'partner', 'installs')
    const of = (all: ReadonlyMap<string, number>) =>
      Object.fromEntries(
        [...all].flatMap(([key, n]) => (key.startsWith(keyOf(app_id, '')) ? [[key.split(' ')[1], n]] : [])),
      )
    compared.push(
      { what: 'report events', expected: textOf(of(sent.counts)), found: textOf(events) },
      { what: 'report attribution', expected: textOf(of(sent.installs)), found: textOf(installs) },
    )
  }
  const costs = sumBy(await readReport(stage, stage.fleet.tenants[0]!.server_key, 'costs'), 'partner', 'cost')
  return [...compared, { what: 'report costs', expected: textOf({ acme: 120.5 }), found: textOf(costs) }]
}

type Row = Record<string, unknown>

async function readReport({ reports }: Stage, key: string, report: string): Promise<Row[]> {
  const address = `${reports.url}/api/v1/reports/${report}?since_ms=${since_ms()}&limit=1000`
  const answer = await fetch(address, { headers: { authorization: `Bearer ${key}` } })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`the report ${report} answered ${answer.status} ${text}`)
  return (JSON.parse(text) as { rows: Row[] }).rows
}

/** The costs that reports show now. */
export async function readCosts(stage: Stage): Promise<number> {
  const rows = await readReport(stage, stage.fleet.tenants[0]!.server_key, 'costs')
  return rows.reduce((sum, { cost }) => sum + Number(cost), 0)
}

function sumBy(rows: readonly Row[], name: string, value: string): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const row of rows) sums[String(row[name])] = (sums[String(row[name])] ?? 0) + Number(row[value])
  return sums
}

const textOf = (sums: Record<string, number>): string =>
  Object.entries(sums)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, n]) => `${name} ${n}`)
    .join(', ')

async function countOf(clickhouse: Pick<Clickhouse, 'query'>, sql: string, params: object): Promise<number> {
  const [row] = await clickhouse.query<{ n: number }>(sql, params as Record<string, never>)
  return Number(row?.n ?? 0)
}
