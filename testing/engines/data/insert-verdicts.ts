import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { Decision } from '@tributary/contracts/attribution/decision'
import type { Verdict } from '@tributary/contracts/attribution/verdict'
import { rule_version } from '@tributary/domain/attribute/verdict'
import { type InstallRow, installColumns, installLine } from '@tributary/tables/attribution/install-rows'

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
  /** Labels of its click, and the country of the install; empty when absent. */
  campaign?: string
  ad_group?: string
  creative?: string
  link_id?: string
  sub1?: string
  sub2?: string
  sub3?: string
  sub4?: string
  sub5?: string
  country?: string
}

/**
 * The rows of `installs_v1` for decisions in the order of the log: each cancels the decision before it of the same
 * install. `from` is the offset of the first decision.
 */
export function installRows(app_id: string, decisions: readonly TestDecision[], from = 0): InstallRow[] {
  const newest = new Map<string, TestDecision>()
  return decisions.flatMap((decision, index) => {
    const before = newest.get(decision.install_uuid)
    newest.set(decision.install_uuid, decision)
    const place = { topic: 'installs.attributed.v1@test', partition: 0, offset: from + index }
    const row = { decision: toDecision(app_id, decision, place.offset), sign: 1 as const, place }
    const cancel = before && { ...row, decision: toDecision(app_id, before, place.offset), sign: -1 as const }
    return cancel ? [cancel, row] : [row]
  })
}

/** A decision that says nothing but what a report sees of it. The one with the higher `offset` was made later. */
export function toDecision(app_id: string, decision: TestDecision, offset: number): Decision {
  const { install_uuid, installed_at_ms, partner, attribution_type, reinstall, flagged, pending } = decision
  const { campaign, link_id, sub1, sub2, sub3, sub4, sub5, country } = decision
  const hasClick = Boolean(decision.ad_group || decision.creative)
  const click_id = '01970000-0000-7000-8000-000000000001'
  const place = { topic: 'events.accepted.v1@test', partition: 0, offset: 0, index: 0 }
  const verdict: Verdict = {
    ...{ partner, attribution_type: attribution_type as Verdict['attribution_type'], reinstall },
    ...{ campaign: campaign || null, link_id: link_id || null, ext_click_id: null },
    click_id: hasClick ? click_id : null,
    ...{ sub1: sub1 || null, sub2: sub2 || null, sub3: sub3 || null, sub4: sub4 || null, sub5: sub5 || null },
    fraud_flags: flagged ? ['fast_install', 'datacenter_ip'] : [],
  }
  return {
    ...{ v: 1, company_id: app_id, app_id, install_uuid, installed_at_ms, received_at_ms: installed_at_ms, place },
    ...{ pending, verdict: pending ? null : verdict, clicked_at_ms: null, rule_version, candidates: [] },
    clicks: hasClick && !pending ? [clickOf(app_id, click_id, decision)] : [],
    ...(country && { country }),
    windows: { click_hours: 168, probabilistic_hours: 24, reinstall_days: 90 },
    ...{ decided_at_ms: installed_at_ms, decided_at: { log: 'installs.found.v1@test', offset, try: 1 } },
  }
}

const clickOf = (app_id: string, click_id: string, decision: TestDecision): Decision['clicks'][number] => ({
  ...{ v: 1, click_id, company_id: app_id, app_id, link_id: 'l', partner: decision.partner, campaign: null },
  ...{ ad_group: decision.ad_group || null, creative: decision.creative || null, ext_click_id: null },
  ...{ sub1: null, sub2: null, sub3: null, sub4: null, sub5: null, deep_link: null, lookback_hours: null },
  ...{ clicked_at_ms: decision.installed_at_ms, filtered_reason: null, ip: '', country: null, user_agent: '' },
  ...{ os: null, os_major: null, model: null, device_hashes: [] },
  place: { topic: 'clicks.recorded.v1@test', partition: 0, offset: 0, index: 0 },
})

/** One block into `installs_v1`; its views fill the tables of the reports. */
export async function insertInstalls(
  clickhouse: Pick<Clickhouse, 'insert'>,
  rows: readonly InstallRow[],
  token: string,
): Promise<void> {
  if (rows.length === 0) return
  const lines = rows.map(installLine)
  await clickhouse.insert({ table: 'installs_v1', columns: installColumns, lines: lines.join('\n'), token })
}
