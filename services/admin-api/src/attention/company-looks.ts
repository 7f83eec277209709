import { textLiteral, textLiterals } from '@tributary/clickhouse/literals'
import type { App } from '@tributary/contracts/admin/apps'
import type { AttentionItem } from '@tributary/contracts/admin/attention'
import { day_ms, limits } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { readBacklogs } from '@tributary/tables/partners/due-postbacks'
import { findLongWaits } from '@tributary/tables/receipts/due-receipts'
import { listApps } from '@tributary/tenancy/companies/apps'
import { getCompany } from '@tributary/tenancy/companies/tenants'
import { monthStartMs } from '@tributary/tenancy/quota/quota-key'
import { readUsage } from '@tributary/tenancy/quota/read-usage'
import type { AdminApiDeps } from '../deps.ts'
import { item, type Look } from './looked.ts'

type CompanyDeps = Pick<AdminApiDeps, 'pool' | 'keyValue' | 'clickhouse' | 'now'>

/**
 * The facts of a company: those of `/usage` and `/apps`, and the days with events. `seen` are the apps of a role that is limited to
 * some, null for all of the company. A suspended company is what it is on purpose.
 */
export function companyLooks(deps: CompanyDeps, company_id: string, seen: ReadonlySet<string> | null): Look[] {
  const { pool, now } = deps
  const company = getCompany(pool, company_id)
  const apps = company.then(async ({ status }) => {
    const all = status === 'suspended' ? [] : await listApps(pool, company_id, now())
    return all.filter(({ app_id }) => seen === null || seen.has(app_id))
  })
  const ofApps = { find: async () => endingSecrets(await apps, company_id, now()) }
  const ofEvents = { find: async () => silentApps(deps, await apps, company_id) }
  return [
    ...(seen === null ? [{ codes: ['quota_nearly_used'] as const, find: () => quotaUsed(deps, company_id) }] : []),
    { codes: ['secret_ends'], ...ofApps },
    { codes: ['app_silent'], ...ofEvents },
    { codes: ['partner_fails'], find: async () => failingPartners(deps, await apps, company_id) },
    { codes: ['receipts_wait'], find: async () => waitingReceipts(deps, await apps, company_id) },
  ]
}

async function quotaUsed(deps: CompanyDeps, company_id: string): Promise<AttentionItem[]> {
  const now_ms = deps.now()
  const { used, monthly_quota, body_bytes, body_bytes_max } = await readUsage(deps, company_id, now_ms)
  const parts = [
    ...(monthly_quota === null ? [] : [{ what: 'events', used, max: monthly_quota }]),
    ...(body_bytes_max === null ? [] : [{ what: 'bytes', used: body_bytes, max: body_bytes_max }]),
  ]
  return parts
    .filter((part) => part.used > limits.attention_quota_share * part.max)
    .map((part) =>
      item('quota_nearly_used', {
        ...{ company_id, since_ms: monthStartMs(now_ms) },
        message: `${Math.floor((100 * part.used) / Math.max(1, part.max))} % of the ${part.what} of this month are used.`,
        fix: 'Ask an operator for a higher quota: when it is used up, events are answered cap_exceeded.',
      }),
    )
}

/** An old signing secret ends on purpose; copies of the app that still sign with it are refused from then on. */
const endingSecrets = (apps: readonly App[], company_id: string, now_ms: number): AttentionItem[] =>
  apps.flatMap(({ app_id, name, old_secrets_end_ms }) =>
    old_secrets_end_ms
      .filter((ends_ms) => ends_ms - now_ms < limits.attention_secret_ms)
      .map((ends_ms) =>
        item('secret_ends', {
          ...{ company_id, app_id },
          message: `An old signing secret of ${name} ends at ${new Date(ends_ms).toISOString()}.`,
          fix: 'Does every sender have the new one? Events that are signed with the old one are refused then.',
        }),
      ),
  )

/** Apps that had events in the last weeks, and none on the whole UTC day before this one. */
async function silentApps({ clickhouse, now }: CompanyDeps, apps: readonly App[], company_id: string) {
  if (apps.length === 0) return []
  const names = new Map(apps.map(({ app_id, name }) => [app_id, name]))
  const days = await readLastDays(clickhouse, [...names.keys()], now())
  return days
    .map(({ app_id, last_day }) => ({ app_id, since_ms: Date.parse(last_day) + day_ms }))
    .filter(({ since_ms }) => now() - since_ms >= day_ms)
    .map(({ app_id, since_ms }) =>
      item('app_silent', {
        ...{ company_id, app_id, since_ms },
        message: `${names.get(app_id)} has had no event since ${utcDay(since_ms)}.`,
        fix: 'Send an event and look at the code of its answer: has a key or a signing secret changed?',
      }),
    )
}

/** Partners that were not notified for long, and those that refused something in the last day. */
async function failingPartners({ pool, now }: CompanyDeps, apps: readonly App[], company_id: string) {
  const names = new Map(apps.map(({ app_id, name }) => [app_id, name]))
  const backlogs = names.size === 0 ? [] : await readBacklogs(pool, [...names.keys()])
  return backlogs.flatMap(({ app_id, partner, due, oldest_due_ms, dead, last_dead_ms }) => {
    const waits = oldest_due_ms !== null && now() - oldest_due_ms > limits.partner_late_ms
    const refuses = last_dead_ms !== null && now() - last_dead_ms < day_ms
    if (!waits && !refuses) return []
    const parts = [...(waits ? [`${due} postbacks wait`] : []), ...(refuses ? [`${dead} were given up`] : [])]
    return item('partner_fails', {
      ...{ company_id, app_id, since_ms: waits ? oldest_due_ms : last_dead_ms },
      message: `${partner} is not notified of ${names.get(app_id)}: ${parts.join(', ')}.`,
      fix: `Look at its answers: npx tributary partner deliveries --app ${app_id} --partner ${partner}`,
    })
  })
}

/** Apps whose receipts no store has answered for long. */
async function waitingReceipts({ pool }: CompanyDeps, apps: readonly App[], company_id: string) {
  const known = new Map(apps.map((app) => [app.app_id, app]))
  const waits = known.size === 0 ? [] : await findLongWaits(pool, [...known.keys()], limits.receipts_late_ms)
  return waits.map(({ app_id, reason, since_ms }) => {
    const { name, platform } = known.get(app_id)!
    const store = platform === 'ios' ? 'the App Store' : 'Google Play'
    return item('receipts_wait', {
      ...{ company_id, app_id, since_ms },
      message:
        reason === 'store_away'
          ? `Receipts of ${name} wait for an answer of ${store}.`
          : `Receipts of ${name} wait for credentials that ${store} takes.`,
      fix: `Ask the store whether it answers: npx tributary app check-store ${app_id}`,
    })
  })
}

/** The last UTC day on which each app had events, of those that had some in the last weeks. */
export const readLastDays = (clickhouse: CompanyDeps['clickhouse'], apps: readonly string[], now_ms: number) =>
  clickhouse.query<{ app_id: string; last_day: string }>(
    `SELECT app_id, toString(max(received_day)) AS last_day FROM events_received_per_day_v1
     WHERE app_id IN (${textLiterals(apps)})
       AND received_day >= toDate(${textLiteral(utcDay(now_ms - limits.attention_silent_days_max * day_ms))})
     GROUP BY app_id ORDER BY app_id`,
  )
