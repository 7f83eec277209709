import type { Decision, KeptClick } from '@tributary/contracts/attribution/decision'
import type { Verdict } from '@tributary/contracts/attribution/verdict'

export const day = Date.UTC(2026, 2, 1, 12)

export const verdictOf = (partner: string, more: Partial<Verdict> = {}): Verdict => ({
  partner,
  attribution_type: partner === 'organic' ? 'organic' : 'install_referrer',
  campaign: null,
  link_id: partner === 'organic' ? null : `lnk_${partner}`,
  click_id: partner === 'organic' ? null : `click-of-${partner}`,
  ext_click_id: null,
  ...{ sub1: null, sub2: null, sub3: null, sub4: null, sub5: null },
  reinstall: false,
  fraud_flags: [],
  ...more,
})

/** A click as a decision keeps it. */
export const keptClick = (app_id: string, more: Partial<KeptClick>): KeptClick => ({
  ...{ v: 1, click_id: '01970000-0000-7000-8000-0000000000a1', company_id: 'co_1', app_id, link_id: 'lnk_p' },
  ...{ partner: 'p', campaign: null, ad_group: null, creative: null, ext_click_id: null, deep_link: null },
  ...{ sub1: null, sub2: null, sub3: null, sub4: null, sub5: null, lookback_hours: null, clicked_at_ms: day - 60_000 },
  ...{ filtered_reason: null, ip: '', country: null, user_agent: '', os: 'android', os_major: null, model: null },
  ...{ device_hashes: [], place: { topic: 'clicks.recorded.v1@a', partition: 0, offset: 3, index: 0 } },
  ...more,
})

/** A decision for a test; `offset` and `tried` say when it was decided. */
export function decisionOf(
  app_id: string,
  install_uuid: string,
  { offset, tried = 1, log = 'installs.found.v1@a', ...more }: DecisionGiven,
): Decision {
  const verdict = more.verdict === undefined ? verdictOf('organic') : more.verdict
  return {
    v: 1,
    company_id: 'co_1',
    app_id,
    install_uuid,
    installed_at_ms: day,
    received_at_ms: day + 1000,
    place: { topic: 'events.accepted.v1@a', partition: 0, offset: 7, index: 0 },
    pending: verdict === null,
    clicked_at_ms: verdict?.click_id ? day - 60_000 : null,
    rule_version: 1,
    windows: { click_hours: 168, probabilistic_hours: 24, reinstall_days: 90 },
    candidates: [],
    clicks: [],
    ...more,
    verdict,
    decided_at_ms: day + 2000 + offset,
    decided_at: { log, offset, try: tried },
  }
}

type DecisionGiven = { offset: number; tried?: number; log?: string } & Partial<Omit<Decision, 'decided_at'>>
