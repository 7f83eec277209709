import { randomUUID } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Click } from '@tributary/contracts/attribution/click'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import { day_ms } from '@tributary/contracts/limits'
import { clickColumns, clickLine } from '@tributary/tables/attribution/clicks'
import { factColumns, factLine } from '@tributary/tables/attribution/facts'
import { type TestClickhouse, testEventRow } from '@tributary/testing/engines/test-clickhouse'
import type { MemoryAuditStore } from '@tributary/testing/twins/memory-audit-store'

/** Noon of a day so near that the TTL of clicks, which knows no other clock than the engine's, leaves them alone. */
export const first_ms = Math.floor(Date.now() / day_ms) * day_ms - 42.5 * day_ms
export const after = (days: number) => first_ms + days * day_ms
export const dayOf = (days: number) => new Date(after(days)).toISOString().slice(0, 10)
const [ip, user_agent] = ['203.0.113.77', 'Agent/7.7 (secret)']

/** Stores on some days an event, a click and an install, each with an address, and an audit object of each kind. */
export async function storeDays(
  { clickhouse, audit }: { clickhouse: TestClickhouse; audit: MemoryAuditStore },
  { company_id, app_id }: { company_id: string; app_id: string },
  days: readonly number[],
) {
  const device = JSON.stringify({ model: 'Pixel', ip, said: '"ip":"' })
  const events = days.map((day) => {
    const at = { ts_ms: after(day), received_at_ms: after(day) }
    return testEventRow({ app_id, company_id, ip, user_agent, device, source: 's2s', ...at })
  })
  await clickhouse.insertEvents(events, randomUUID())
  const places = days.map((day) => ({ topic: 't@a', partition: 0, offset: day + Math.random(), index: 0 }))
  const insert = (table: string, columns: readonly string[], lines: string[]) =>
    clickhouse.insert({ table, columns, lines: lines.join('\n'), token: randomUUID() })
  const clicks = days.map((day, n) => clickLine(clickOf(app_id, after(day)), { ...places[n]!, offset: day }))
  await insert('clicks_raw_v1', clickColumns, clicks)
  const facts = days.map((day) => factLine(factOf(app_id, company_id, day)))
  await insert('install_facts_v1', factColumns, facts)
  for (const day of days) {
    const [on, path] = [dayOf(day), dayOf(day).replaceAll('-', '/')]
    const head = `{"received_at_ms":${after(day)},"ip":"${ip}","headers":{"user-agent":"${user_agent}"},"body":`
    const event = `{"install_uuid":"i","props":{"ip":"kept"},"device":{"ip":"${ip}"}}`
    const batch = `${head}{"events":[${event},${event}]}}`
    audit.objects.set(`audit/${path}/${company_id}/${app_id}/1-g-1.jsonl.gz`, gzipSync(`${batch}\n${batch}\n`))
    audit.objects.set(`${app_id}/s2s/${on}/e.json`, Buffer.from(`${head}${event}}`))
    audit.objects.set(`${app_id}/s2s/bulk/${on}/b.json`, Buffer.from(batch))
    audit.objects.set(`${app_id}/privacy/${on}/i~1.json`, Buffer.from('{}'))
    const archive = `clicks/${path}/log/0/1-2.jsonl.gz`
    const archived = audit.objects.has(archive) ? gunzipSync(audit.objects.get(archive)!) : ''
    const click = JSON.stringify(clickOf(app_id, after(day)))
    audit.objects.set(archive, gzipSync(`${archived}${click}\n`))
  }
}

const nothing = { ad_group: null, creative: null, ext_click_id: null, deep_link: null, country: null, campaign: null }
const subs = { sub1: null, sub2: null, sub3: null, sub4: null, sub5: null }
const clickOf = (app_id: string, clicked_at_ms: number): Click => ({
  ...{
    v: 1,
    click_id: uuidAt(clicked_at_ms),
    company_id: 'co',
    app_id,
    link_id: 'l',
    partner: 'p',
    ...nothing,
    ...subs,
  },
  ...{ lookback_hours: null, clicked_at_ms, filtered_reason: null, ip, user_agent, os: 'android', os_major: 14 },
  ...{ model: 'Pixel', device_hashes: ['d'] },
})
const uuidAt = (ms: number) => {
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${randomUUID().slice(-12)}`
}
export const factOf = (app_id: string, company_id: string, day: number): InstallFact => ({
  ...{ kind: 'install', v: 1, company_id, app_id, install_uuid: `i${day}`, received_at_ms: after(day) },
  ...{ place: { topic: 't@a', partition: 0, offset: day, index: 0 }, event_name: 'app_install', is_sdk: true },
  ...{ platform: 'android', installed_at_ms: after(day), ip, os_major: 14, model: '","ip":"', device_hashes: ['d'] },
  ...{ user_id: null, referrer: null, named_click: null, referrer_click_server_s: null, install_begin_server_s: null },
})
