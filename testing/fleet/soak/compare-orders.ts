import { isDeepStrictEqual } from 'node:util'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Decision } from '@tributary/contracts/attribution/decision'
import { utcDay } from '@tributary/domain/utc-day'
import { findNewest } from '@tributary/tables/attribution/verdicts'
import { type AttributionRow, expectedReport, sumRows } from '../../attribution/expected-report.ts'
import type { SimApp, SimInstall } from '../../attribution/history.ts'

/** An app whose history reached the log in one of several orders. */
export interface OrderedApp {
  order: string
  app: SimApp
  installs: readonly SimInstall[]
  server_key: string
}

export interface AttributionVerdict {
  verdicts: number
  /** Installs whose verdict is not the same in each order. */
  differing: string[]
  /** Installs whose verdict is not what the simulator knows. */
  untrue: string[]
  /** Installs whose signs sum up to neither 0 nor 1. */
  unbalanced: number
  /** Apps whose report differs from a count over the verdicts, or from what the simulator did. */
  wrong_reports: string[]
}

/** Compares what each order led to, record by record, and holds it against the simulator. */
export async function compareOrders(
  clickhouse: Pick<Clickhouse, 'query'>,
  apps: readonly OrderedApp[],
  reports: { url: string; since_ms: number },
): Promise<AttributionVerdict> {
  const first = new Map<string, object>()
  const found: AttributionVerdict = { verdicts: 0, differing: [], untrue: [], unbalanced: 0, wrong_reports: [] }
  for (const { order, app, installs, server_key } of apps) {
    const decisions = await findDecisions(clickhouse, app.app_id, installs)
    found.verdicts += decisions.size
    for (const { install_uuid, truth } of installs) {
      const decision = decisions.get(install_uuid)
      const record = decision === undefined ? {} : recordOf(decision)
      const expected = first.get(install_uuid) ?? record
      first.set(install_uuid, expected)
      if (!isDeepStrictEqual(record, expected)) found.differing.push(`${order}: ${install_uuid}`)
      const { partner, attribution_type, reinstall, fraud_flags } = decision?.verdict ?? {}
      const known = { partner, attribution_type, reinstall, flags: fraud_flags }
      const { guilty: _guilty, ...wanted } = truth
      if (!isDeepStrictEqual(known, wanted)) found.untrue.push(`${order}: ${install_uuid}`)
    }
    const report = await readReport(reports, server_key)
    const counted = sumRows([...decisions.values()].flatMap(toCounted))
    if (!isDeepStrictEqual(report, counted)) found.wrong_reports.push(`${order}, ${app.platform}: not its verdicts`)
    if (!isDeepStrictEqual(report, expectedReport(installs, app.app_id)))
      found.wrong_reports.push(`${order}, ${app.platform}: not what was done`)
  }
  const [signs] = await clickhouse.query<{ unbalanced: number }>(
    `SELECT toUInt32(count()) AS unbalanced FROM
       (SELECT app_id, install_uuid, sum(sign) AS sum FROM installs_v1 FINAL GROUP BY app_id, install_uuid HAVING sum NOT IN (0, 1))`,
  )
  return { ...found, unbalanced: signs!.unbalanced }
}

/** What an explain record says, without `history` and without what names the app. */
function recordOf({ installed_at_ms, pending, verdict, candidates, windows, rule_version }: Decision): object {
  return { installed_at_ms, pending, verdict, candidates, windows, rule_version }
}

const toCounted = ({ verdict, installed_at_ms }: Decision) =>
  verdict === null ? [] : [{ ...verdict, day: utcDay(installed_at_ms), flagged: verdict.fraud_flags.length > 0 }]

async function findDecisions(
  clickhouse: Pick<Clickhouse, 'query'>,
  app_id: string,
  installs: readonly SimInstall[],
): Promise<Map<string, Decision>> {
  const ids = installs.map(({ install_uuid }) => install_uuid)
  const found = new Map<string, Decision>()
  for (let from = 0; from < ids.length; from += 500) {
    const page = await findNewest(clickhouse, app_id, ids.slice(from, from + 500))
    for (const [install_uuid, { decision }] of page) found.set(install_uuid, decision)
  }
  return found
}

async function readReport(
  { url, since_ms }: { url: string; since_ms: number },
  key: string,
): Promise<AttributionRow[]> {
  const address = `${url}/api/v1/reports/attribution?since_ms=${since_ms}&limit=1000`
  const answer = await fetch(address, { headers: { authorization: `Bearer ${key}` } })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`the report answered ${answer.status} ${text}`)
  return (JSON.parse(text) as { rows: AttributionRow[] }).rows
}
