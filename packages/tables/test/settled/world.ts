import { randomUUID } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { day_ms } from '@tributary/contracts/limits'
import { type RevenueRow, revenueRowColumns } from '@tributary/contracts/rows'
import { insertInstalls, installRows, type TestDecision } from '@tributary/testing/engines/insert-verdicts'
import { type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { daysBetween } from '../../src/settled/days.ts'
import { type FigureName, figureNames, figureOf, settledSql } from '../../src/settled/figures.ts'
import { findSettled, findSettledCohorts } from '../../src/settled/find-settled.ts'
import {
  activityDays,
  cohortFigures,
  retainedSql,
  settledCampaignsRetainedSql,
  settledNumbers,
  settledRetainedSql,
} from '../../src/settled/sql/cohorts.ts'

/** First day of the data, and how many days it has. */
export const first_ms = Date.UTC(2026, 2, 1)
export const days_count = 12
const installs_count = 30

export const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)
export const from = dayOf(first_ms)
export const to = dayOf(first_ms + (days_count + 1) * day_ms)

/** The verdict of the install with that number. */
export const decisionOf = (n: number): TestDecision => ({
  install_uuid: `install-${n}`,
  installed_at_ms: first_ms + (n % 5) * day_ms + n * 1_000_003,
  partner: n % 3 === 0 ? 'organic' : `partner-${n % 3}`,
  attribution_type: n % 3 === 0 ? 'organic' : 'click_id',
  reinstall: n % 7 === 0,
  flagged: n % 4 === 0,
  pending: n % 11 === 0,
})

/** Events of an install: its days follow from its number, some have money, and some of it is a refund. */
function eventsOf(app_id: string, n: number) {
  const { install_uuid, installed_at_ms } = decisionOf(n)
  return [0, 1, 2, 3, 5, 7, 8].flatMap((later) => {
    const ts_ms = installed_at_ms + later * day_ms + ((n * later) % 3) * 7_200_000 - 3_600_000
    if ((n + later) % 4 === 3 || ts_ms >= first_ms + days_count * day_ms) return []
    const paid = (n + later) % 2 === 0
    return testEventRow({
      ...{
        app_id,
        install_uuid,
        ts_ms,
        event_name: paid ? 'purchase' : later % 3 === 0 ? 'open' : 'purchase_refunded',
      },
      ...(later === 3
        ? {}
        : { revenue_micros: `${(paid ? 1 : -1) * (n * 1_000_000 + later)}`, currency: n % 2 === 0 ? 'USD' : 'EUR' }),
      offset: n * 100 + later,
    })
  })
}

/** An app with events, money of which one event is cancelled, and verdicts. */
export async function writeApp(clickhouse: TestClickhouse, app_id: string): Promise<void> {
  const numbers = Array.from({ length: installs_count }, (_, n) => n)
  const events = numbers.flatMap((n) => eventsOf(app_id, n))
  await clickhouse.insertEvents(events, randomUUID())
  const paid = events.find(({ revenue_micros }) => revenue_micros !== null)!
  await cancel(clickhouse, [{ ...paid, amount_micros: Number(paid.revenue_micros) }])
  const decisions = numbers.filter((n) => n % 13 !== 0).map(decisionOf)
  await insertInstalls(clickhouse, installRows(app_id, decisions), randomUUID())
  await writeClicks(clickhouse, app_id, numbers)
}

/** Clicks of the days of installs, which the engine would let expire by its own clock. */
async function writeClicks(clickhouse: Clickhouse, app_id: string, numbers: readonly number[]): Promise<void> {
  await clickhouse.command('SYSTEM STOP TTL MERGES clicks_raw_v1')
  const columns = ['app_id', 'click_id', 'day', 'partner', 'campaign', 'click']
  const lines = numbers.map((n) => {
    const day = dayOf(decisionOf(n).installed_at_ms)
    return JSON.stringify([app_id, `c${n}`, day, 'acme', `c${n % 3}`, `{"country":"D${n % 2}"}`])
  })
  await clickhouse.insert({ table: 'clicks_raw_v1', columns, lines: lines.join('\n'), token: randomUUID() })
}

export async function cancel(clickhouse: Clickhouse, rows: readonly RevenueRow[]): Promise<void> {
  const lines = rows.map((row) => JSON.stringify(revenueRowColumns.map((column) => row[column]))).join('\n')
  await clickhouse.insert({ table: 'revenue_cancelled_v1', columns: revenueRowColumns, lines, token: randomUUID() })
}

/** Each list of each figure, and cohorts, worked out live: no settled row is read. */
export async function liveFigures(clickhouse: Clickhouse, app_id: string): Promise<Record<string, unknown[]>> {
  const everything: Record<string, unknown[]> = {}
  for (const [key, sql] of lists('live')) {
    everything[key] = await read(clickhouse, sql, { app_id, live_days: daysBetween(from, to) })
  }
  const pairs = daysBetween(from, to).flatMap((day) => settledNumbers.map((n) => ({ day, n })))
  everything.cohorts = await read(clickhouse, retainedSql(cohortPlace), cohortParams(app_id, pairs))
  const { by } = cohortFigures.campaign_cohorts
  everything.campaign_cohorts = await read(clickhouse, retainedSql(cohortPlace, by), cohortParams(app_id, pairs))
  return everything
}

/** The same of what is settled, and how many days and pairs are. */
export async function settledFigures(clickhouse: Clickhouse, app_id: string) {
  const everything: Record<string, unknown[]> = {}
  const settled: Record<string, string[]> = {}
  for (const name of figureNames)
    settled[name] = (await findSettled(clickhouse, name, { app_id, from, to })).settled_days
  for (const [key, sql] of lists('settled')) {
    const settled_days = settled[key.split('.')[0]!]!
    everything[key] = await read(clickhouse, sql, { app_id, settled_days })
  }
  const cohorts = await findSettledCohorts(clickhouse, 'cohorts', { app_id, from, to, numbers: settledNumbers })
  const retained = await read(clickhouse, settledRetainedSql(cohortPlace), cohortParams(app_id, cohorts.settled))
  everything.cohorts = retained.filter((row) => (row as { retained: number }).retained > 0)
  const of_campaigns = await findSettledCohorts(clickhouse, 'campaign_cohorts', {
    app_id,
    from,
    to,
    numbers: settledNumbers,
  })
  everything.campaign_cohorts = await read(
    clickhouse,
    `SELECT date, n, retained, partner, campaign, country FROM (${settledCampaignsRetainedSql(cohortPlace)})`,
    cohortParams(app_id, of_campaigns.settled),
  )
  return { figures: everything, settled, cohorts }
}

const cohortPlace = {
  ...{ app_id: '{app_id:String}', days: '{days:Array(Date)}', numbers: '{numbers:Array(UInt16)}' },
  activity_days: '{activity_days:Array(Date)}',
}
const cohortParams = (app_id: string, pairs: readonly { day: string; n: number }[]) => ({
  ...{ app_id, days: pairs.map(({ day }) => day), numbers: pairs.map(({ n }) => n) },
  activity_days: activityDays(pairs),
})

function lists(which: 'live' | 'settled'): [string, string][] {
  return figureNames.flatMap((name: FigureName) => {
    const at = { app_id: '{app_id:String}', days: `{${which}_days:Array(Date)}` }
    return Object.entries(figureOf(name).lists).map(([list, { liveSql }]): [string, string] => [
      `${name}.${list}`,
      which === 'live' ? liveSql(at) : settledSql(name, list as never, at),
    ])
  })
}

const read = (clickhouse: Clickhouse, sql: string, params: object) =>
  clickhouse.query(`SELECT * FROM (${sql}) ORDER BY ALL`, params as Record<string, unknown>)

/** A row of money of the day of this time. */
export async function moneyOf(clickhouse: Clickhouse, app_id: string, at_ms: number): Promise<RevenueRow> {
  const columns = revenueRowColumns.map((name) =>
    ['day', 'event_key', 'transaction_key'].includes(name) ? `toString(t.${name}) AS ${name}` : name,
  )
  const [row] = await clickhouse.query<RevenueRow>(
    `SELECT ${columns} FROM revenue_raw_v1 AS t WHERE app_id = {app_id:String} AND t.day = {day:Date} LIMIT 1`,
    { app_id, day: dayOf(at_ms) },
  )
  return row!
}
