import type { Clickhouse } from '@tributary/clickhouse/clickhouse'

/** What a report sees of a decision. `partner` and `attribution_type` of a pending one are empty. */
export interface TestDecision {
  install_uuid: string
  /** Unix epoch ms. */
  installed_at_ms: number
  partner: string
  attribution_type: string
  reinstall: boolean
  flagged: boolean
  pending: boolean
}

const columns = [
  ...(['app_id', 'install_uuid', 'day', 'installed_at_ms', 'received_at_ms', 'decided_at_ms', 'pending'] as const),
  ...(['partner', 'attribution_type', 'reinstall', 'fraud_flags', 'decision'] as const),
  ...(['sign', 'topic', 'partition', 'offset'] as const),
] as const
export type InstallRow = Record<(typeof columns)[number], string | number | string[]>

/**
 * The rows of `installs_v1` for decisions in the order of the log: each cancels the decision before it of the same
 * install. `from` is the offset of the first decision.
 */
export function installRows(app_id: string, decisions: readonly TestDecision[], from = 0): InstallRow[] {
  const newest = new Map<string, TestDecision>()
  return decisions.flatMap((decision, index) => {
    const before = newest.get(decision.install_uuid)
    newest.set(decision.install_uuid, decision)
    const rowOf = (of: TestDecision, sign: number): InstallRow => ({
      ...{ app_id, install_uuid: of.install_uuid, installed_at_ms: of.installed_at_ms },
      day: new Date(of.installed_at_ms).toISOString().slice(0, 10),
      ...{ received_at_ms: of.installed_at_ms, decided_at_ms: of.installed_at_ms },
      ...{ partner: of.partner, attribution_type: of.attribution_type },
      ...{ pending: Number(of.pending), reinstall: Number(of.reinstall) },
      fraud_flags: of.flagged ? ['fast_install', 'datacenter_ip'] : [],
      decision: '{}',
      ...{ sign, topic: 'installs.attributed.v1@test', partition: 0, offset: from + index },
    })
    return [...(before === undefined ? [] : [rowOf(before, -1)]), rowOf(decision, 1)]
  })
}

/** One block into `installs_v1`; its views fill the tables of the reports. */
export async function insertInstalls(
  clickhouse: Pick<Clickhouse, 'insert'>,
  rows: readonly InstallRow[],
  token: string,
): Promise<void> {
  if (rows.length === 0) return
  const lines = rows.map((row) => JSON.stringify(columns.map((column) => row[column])))
  await clickhouse.insert({ table: 'installs_v1', columns, lines: lines.join('\n'), token })
}
