import type { KeptClick } from '@tributary/contracts/attribution/decision'
import type { AliasFact, ClickToken, InstallFact } from '@tributary/contracts/attribution/found'

export const app_id = 'app-1'
/** An app of another company. */
export const other_app_id = 'app-2'
export const company_id = 'co-1'
export const hour_ms = 3600 * 1000
export const day_ms = 24 * hour_ms
/** Far enough from now that tables keep its clicks. */
export const t0 = Date.UTC(2099, 5, 1)

/** Ids of clicks begin with their time. */
export function clickId(ms: number, n: number): string {
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${n.toString(16).padStart(12, '0')}`
}

/** The `n`th click; what is left out has a default. */
export function click(n: number, given: Partial<KeptClick> = {}): KeptClick {
  const { clicked_at_ms = t0 } = given
  return {
    ...{
      v: 1,
      click_id: clickId(clicked_at_ms, n),
      company_id,
      app_id,
      link_id: 'link-1',
      partner: 'p',
      campaign: 'c',
    },
    ...{ ad_group: null, creative: null, ext_click_id: null, deep_link: null, lookback_hours: null, clicked_at_ms },
    ...{ sub1: null, sub2: null, sub3: null, sub4: null, sub5: null, filtered_reason: null, country: null },
    ...{ ip: '192.0.2.1', user_agent: '', os: 'android', os_major: 15, model: null, device_hashes: [] },
    ...{ place: { topic: 'clicks.recorded.v1@a', partition: 0, offset: n, index: 0 } },
    ...given,
  }
}

/** The `n`th event of the log, of an install. */
export function install(n: number, given: Partial<InstallFact> = {}): InstallFact {
  const { installed_at_ms = t0 + hour_ms } = given
  return {
    ...{
      kind: 'install',
      v: 1,
      company_id,
      app_id,
      install_uuid: `i${n}`,
      installed_at_ms,
      received_at_ms: installed_at_ms,
    },
    ...{ place: { topic: 'events.accepted.v1@a', partition: 0, offset: n, index: 0 }, event_name: 'app_install' },
    ...{ is_sdk: true, platform: 'android', ip: null, os_major: null, model: null, device_hashes: [], user_id: null },
    ...{ referrer: null, named_click: null, referrer_click_server_s: null, install_begin_server_s: null },
    ...given,
  }
}

export const alias = (n: number, install_uuid: string, user_id: string, received_at_ms: number): AliasFact => ({
  ...{ kind: 'alias', v: 1, company_id, app_id, install_uuid, user_id, received_at_ms },
  place: { topic: 'events.accepted.v1@a', partition: 0, offset: n, index: 0 },
})

export const token = (n: number, signature: ClickToken['signature'] = 'valid', ms = t0): ClickToken => ({
  click_id: clickId(ms, n),
  signature,
})
