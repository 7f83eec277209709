import { randomUUID } from 'node:crypto'
import { type Browser, peopleWorld } from '@tributary/admin-api/test/people-world'
import { reportsBeside } from '@tributary/admin-api/test/reports-beside'
import type { Click } from '@tributary/contracts/attribution/click'
import type { Decision } from '@tributary/contracts/attribution/decision'
import type { Verdict } from '@tributary/contracts/attribution/verdict'
import { clickColumns, clickLine } from '@tributary/tables/attribution/clicks'
import { type InstallRow, installColumns, installLine } from '@tributary/tables/attribution/install-rows'
import { openTestClickhouse, type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import { afterAll, beforeAll } from 'vitest'

/** An app of a tenant, an app of another one, and an analyst of the first, on tables of their own. */
export function rowsStage() {
  let clickhouse: TestClickhouse
  const world = peopleWorld({}, (deps) =>
    reportsBeside(deps, {
      query: (...given) => clickhouse.query(...given),
      stream: (...given) => clickhouse.stream(...given),
    }),
  )
  const ids = { company_id: '', app_id: '', other_app_id: '' }
  let analyst: Browser
  let log_offset = 0

  beforeAll(async () => {
    clickhouse = await openTestClickhouse()
    const [own, other] = [await world.newApp(), await world.newApp()]
    Object.assign(ids, { company_id: own.company_id, app_id: own.app_id, other_app_id: other.app_id })
    analyst = await world.signedIn('analyst', own.company_id)
  })
  afterAll(() => clickhouse.close())

  return {
    world,
    ids,
    analyst: () => analyst,
    read: async (path: string) => (await analyst.ask('GET', `/apps/${ids.app_id}${path}`)).body,
    insert: (table: string, columns: readonly string[], lines: readonly string[]) =>
      clickhouse.insert({ table, columns, lines: lines.join('\n'), token: randomUUID() }),
    writeEvents: (rows: readonly (Partial<Parameters<typeof testEventRow>[0]> & { ts_ms: number })[]) =>
      clickhouse.insertEvents(
        rows.map((row) => testEventRow({ app_id: ids.app_id, ...row })),
        randomUUID(),
      ),
    async writeClicks(clicks: readonly (Partial<Click> & Pick<Click, 'click_id' | 'clicked_at_ms'>)[]) {
      const lines = clicks.map((click) => {
        const whole: Click = {
          ...{ v: 1, company_id: ids.company_id, app_id: ids.app_id, link_id: 'lnk_1', partner: 'adnet' },
          ...{ campaign: 'spring', ad_group: null, creative: null, ext_click_id: null, sub1: null, sub2: null },
          ...{ sub3: null, sub4: null, sub5: null, deep_link: null, lookback_hours: null, filtered_reason: null },
          ...{ ip: '192.0.2.1', country: null, user_agent: 'agent', os: null, os_major: null, model: null },
          ...{ device_hashes: [], ...click },
        }
        return clickLine(whole, { topic: 'clicks.recorded.v1@a', partition: 0, offset: log_offset++, index: 0 })
      })
      const block = { table: 'clicks_raw_v1', columns: clickColumns, lines: lines.join('\n') }
      await clickhouse.insert({ ...block, token: randomUUID() })
    },
    /** Writes what install-writer writes of an install whose verdicts followed each other; null: it waited for a click. */
    async decide(install_uuid: string, installed_at_ms: number, verdicts: (Verdict | null)[], app_id = ids.app_id) {
      const log = { topic: 'installs.attributed.v1@a', partition: 0 }
      const place = { topic: 'events.accepted.v1@a', partition: 0, offset: 7, index: 0 }
      const decisions = verdicts.map(
        (verdict, n): Decision => ({
          ...{ v: 1, company_id: ids.company_id, app_id, install_uuid, installed_at_ms, place },
          ...{ received_at_ms: installed_at_ms, pending: verdict === null, verdict, clicked_at_ms: null },
          ...{ rule_version: 1, candidates: [], clicks: [] },
          windows: { click_hours: 168, probabilistic_hours: 24, reinstall_days: 90 },
          ...{ decided_at_ms: installed_at_ms + n, decided_at: { log: 'installs.found.v1@a', offset: n, try: 1 } },
        }),
      )
      const rows = decisions.flatMap((decision, n): InstallRow[] => {
        const before = decisions[n - 1]
        // A record that begins a verdict cancels the one before.
        const at = { ...log, offset: log_offset++ }
        const cancel: InstallRow[] = before === undefined ? [] : [{ decision: before, sign: -1, place: at }]
        return [...cancel, { decision, sign: 1, place: at }]
      })
      const lines = rows.map(installLine).join('\n')
      await clickhouse.insert({ table: 'installs_v1', columns: installColumns, lines, token: randomUUID() })
    },
  }
}

export const verdictOf = (partner: string, more: Partial<Verdict> = {}): Verdict => ({
  ...{ partner, attribution_type: 'install_referrer', campaign: 'spring', link_id: 'lnk_1', click_id: 'c-1' },
  ...{ ext_click_id: null, sub1: null, sub2: null, sub3: null, sub4: null, sub5: null },
  ...{ reinstall: false, fraud_flags: [] },
  ...more,
})
