import type { EventsReport } from '@tributary/contracts/reports'
import fc from 'fast-check'

export const day_ms = Date.UTC(2026, 2, 10)

/** Events from pools so small that ids, installs and transactions of different apps are the same. */
const event = fc.record({
  event_id: fc.constantFrom('e-1', 'e-2', 'e-3'),
  event_name: fc.constantFrom('level_up', 'purchase', 'app_install'),
  event_ts_ms: fc.integer({ min: day_ms, max: day_ms + 5 }),
  user_id: fc.constantFrom(null, 'u-1', 'u-2'),
  money: fc.constantFrom(null, 't-1', 't-2'),
})
export type SentEvent = typeof event extends fc.Arbitrary<infer Event> ? Event : never
const install = fc.constantFrom('i-1', 'i-2')
const events = fc.array(event, { minLength: 1, maxLength: 3 })
/** Which of the tenants; taken modulo how many there are. */
const one = fc.nat({ max: 11 })
/** Mostly those of one app, since others are refused. */
const credentials = fc.oneof(
  { weight: 3, arbitrary: one.map((n) => ({ company_of: n, app: n, secret_of: n })) },
  { weight: 2, arbitrary: fc.record({ company_of: one, app: one, secret_of: one }) },
)

export const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('sdk' as const), credentials, install, events }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('s2s' as const),
      key: one,
      install,
      events: events.map((all) => all.slice(0, 1)),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('bulk' as const), key: one, install, events }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('privacy' as const), credentials, install }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('report' as const), key: one }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('suspend' as const), company: one }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reinstate' as const), company: one }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('revoke' as const), key: one }) },
)
export type Step = typeof step extends fc.Arbitrary<infer Step> ? Step : never

/** How many apps each company has. */
export const companies = fc.array(fc.integer({ min: 1, max: 2 }), { minLength: 2, maxLength: 3 })

type Counted = SentEvent & { install: string; money_counts: boolean }

/** All that one app may ever show, counted one event at a time by the words of docs/rules.md. */
export interface AppTwin {
  app_id: string
  company_id: string
  counted: Counted[]
  /** Events of accepted requests, without duplicates inside one. */
  quota: number
  /** Installs whose erasure was asked for, in order. */
  erasures: string[]
}

export function takeEvents(app: AppTwin, install: string, sent: readonly SentEvent[]): void {
  const keyOf = ({ event_name, event_id }: SentEvent) =>
    event_name === 'app_install' ? 'install' : `event ${event_id}`
  app.quota += new Set(sent.map(keyOf)).size
  for (const event of sent) {
    if (app.counted.some((other) => other.install === install && keyOf(other) === keyOf(event))) continue
    const { event_name, money } = event
    const claimed = app.counted.some((other) => other.event_name === event_name && other.money === money)
    app.counted.push({ ...event, install, money_counts: money !== null && !claimed })
  }
}

export function reportOf({ counted }: AppTwin): EventsReport['rows'] {
  const names = [...new Set(counted.map(({ event_name }) => event_name))].sort()
  return names.map((event_name) => {
    const all = counted.filter((event) => event.event_name === event_name)
    return {
      day: new Date(day_ms).toISOString().slice(0, 10),
      event_name,
      events: all.length,
      unique_installs: new Set(all.map(({ install }) => install)).size,
      revenue_usd: all.filter(({ money_counts }) => money_counts).length * revenue,
    }
  })
}

export const revenue = 1.25

/** What is known of an install; null: nothing. */
export function installOf({ app_id, counted }: AppTwin, install_uuid: string) {
  const all = counted.filter(({ install }) => install === install_uuid)
  if (all.length === 0) return null
  const users = [...new Set(all.flatMap(({ user_id }) => user_id ?? []))]
  const identities = users.map((user_id) => ({
    user_id,
    since_ms: Math.min(...all.filter((event) => event.user_id === user_id).map(({ event_ts_ms }) => event_ts_ms)),
  }))
  identities.sort((a, b) => a.since_ms - b.since_ms || (a.user_id < b.user_id ? -1 : 1))
  const installed = all.find(({ event_name }) => event_name === 'app_install')
  return { app_id, install_uuid, installed_at_ms: installed?.event_ts_ms ?? null, identities }
}
