import { day_ms } from '@tributary/contracts/limits'
import type { ReportName, ReportRow } from '@tributary/contracts/reports'
import { type DecidedInstall, dayOf, type History, type Rate, rateOf, type SentEvent } from './history.ts'

interface Window {
  since_ms: number
  until_ms: number
}
export interface ExpectedReport<Name extends ReportName> {
  rows: ReportRow<Name>[]
  missing_rates: string[]
}

/**
 * The reports of an app by the words of docs/rules.md#reports: loops over events and decisions, without days that are
 * counted before, and without SQL. Slow and plain, so that a reader can check it.
 */
export function expectedReports(history: History, app: number, rates: readonly Rate[]) {
  const events = countedEvents(history.events.filter((event) => event.app === app))
  const installs = newestVerdicts(history.decisions.filter((decision) => decision.app === app))
  const money = countedMoney(events)
  return {
    attribution: (window: Window) => attributionReport(installs, window),
    revenue: (window: Window) => revenueReport(money, installs, rates, window),
    cohorts: (window: Window) => cohortsReport(events, installs, window),
    events: (window: Window) => eventsReport(events, money, rates, window),
    // A history has no postbacks: its events and verdicts must make no row here.
    skan: (_window: Window): ExpectedReport<'skan'> => ({ rows: [], missing_rates: [] }),
  } satisfies { [Name in ReportName]: (window: Window) => ExpectedReport<Name> }
}

/** docs/rules.md#idempotency: the first of equal ids on the same or neighbouring days; one `app_install` of an install. */
function countedEvents(sent: readonly SentEvent[]): SentEvent[] {
  const counted: SentEvent[] = []
  for (const event of sent) if (!counted.some((earlier) => areOne(earlier, event))) counted.push(event)
  return counted
}

function areOne(a: SentEvent, b: SentEvent): boolean {
  const isInstall = (event: SentEvent) => event.event_name === 'app_install'
  if (a.install_uuid !== b.install_uuid || isInstall(a) !== isInstall(b)) return false
  const days = Math.abs(Date.parse(dayOf(a.event_ts_ms)) - Date.parse(dayOf(b.event_ts_ms))) / day_ms
  return isInstall(a) || (a.event_id === b.event_id && days <= 1)
}

/** An event whose money counts, with its amount: negative for refunds. */
interface Money extends SentEvent {
  micros: bigint
  currency: string
}

const isRefund = ({ event_name }: SentEvent) => /^(purchase|subscription)_refunded$/.test(event_name)

/** docs/rules.md#money-once: of a transaction the best claim alone. */
function countedMoney(events: readonly SentEvent[]): Money[] {
  const claims = events.filter(({ revenue }) => revenue !== null)
  const best = claims.filter((claim) => !claims.some((other) => beats(other, claim, claims)))
  return best.map((event) => {
    const micros = BigInt(Math.round(event.revenue! * 1e6))
    const refunded = isRefund(event) && micros > 0n ? -micros : micros
    return { ...event, micros: refunded, currency: (event.currency ?? 'USD').toUpperCase() }
  })
}

function beats(a: SentEvent, b: SentEvent, log: readonly SentEvent[]): boolean {
  if (!a.transaction_id || a.transaction_id !== b.transaction_id || a.event_name !== b.event_name) return false
  const rank = (event: SentEvent) => (event.source === 'sdk' ? 1 : 2)
  const later =
    rank(b) - rank(a) ||
    a.received_at_ms - b.received_at_ms ||
    a.partition - b.partition ||
    log.indexOf(a) - log.indexOf(b)
  return later < 0
}

/** The newest verdict of each install, by install; an install that waits for a click has none. */
function newestVerdicts(decisions: readonly DecidedInstall[]): Map<string, DecidedInstall> {
  const newest = new Map<string, DecidedInstall>()
  for (const decision of decisions) newest.set(decision.install_uuid, decision)
  return new Map([...newest].filter(([, { pending }]) => !pending))
}

const inside = ({ since_ms, until_ms }: Window, ms: number) => ms >= since_ms && ms < until_ms

/** Groups by the texts of `keyOf`, in their order. */
function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => string[]): [key: string[], items: Item[]][] {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const key = JSON.stringify(keyOf(item))
    groups.set(key, [...(groups.get(key) ?? []), item])
  }
  return [...groups]
    .map(([key, group]): [string[], Item[]] => [JSON.parse(key), group])
    .toSorted(([a], [b]) => Buffer.compare(Buffer.from(a.join('\0')), Buffer.from(b.join('\0'))))
}

function attributionReport(
  installs: ReadonlyMap<string, DecidedInstall>,
  window: Window,
): ExpectedReport<'attribution'> {
  const all = [...installs.values()].filter(({ installed_at_ms }) => inside(window, installed_at_ms))
  const rows = grouped(all, (i) => [dayOf(i.installed_at_ms), i.partner, i.attribution_type]).map(([key, group]) => {
    const [day = '', partner = '', attribution_type = ''] = key
    const fresh = group.filter(({ reinstall }) => !reinstall)
    return {
      ...{ day, partner, attribution_type, installs: fresh.length },
      organic: fresh.filter((install) => install.attribution_type === 'organic').length,
      reinstalls: group.length - fresh.length,
      fraud_flagged: fresh.filter(({ flagged }) => flagged).length,
    }
  })
  return { rows, missing_rates: [] }
}

function revenueReport(
  money: readonly Money[],
  installs: ReadonlyMap<string, DecidedInstall>,
  rates: readonly Rate[],
  window: Window,
): ExpectedReport<'revenue'> {
  const all = money.filter(({ event_ts_ms }) => inside(window, event_ts_ms))
  const partnerOf = ({ install_uuid }: Money) => installs.get(install_uuid)?.partner ?? 'organic'
  const rows = grouped(all, (event) => [dayOf(event.event_ts_ms), partnerOf(event)]).map(([key, group]) => {
    const [day = '', partner = ''] = key
    const purchases = group.filter((event) => !isRefund(event))
    const payments = purchases.filter((event) => event.micros > 0n && hasRate(event, rates))
    const paying = new Set(payments.map(({ install_uuid }) => install_uuid)).size
    return {
      ...{ day, partner, purchases: purchases.length, revenue_usd: usd(group, rates) },
      arppu_usd: paying === 0 ? 0 : usd(group, rates, paying),
    }
  })
  const lacking = all.filter((event) => event.micros !== 0n && !hasRate(event, rates))
  return { rows, missing_rates: sortedSet(lacking.map(({ currency }) => currency)) }
}

function cohortsReport(
  events: readonly SentEvent[],
  installs: ReadonlyMap<string, DecidedInstall>,
  window: Window,
): ExpectedReport<'cohorts'> {
  const all = [...installs.values()].filter((one) => !one.reinstall && inside(window, one.installed_at_ms))
  const rows = grouped(all, (one) => [dayOf(one.installed_at_ms)]).map(([[day = ''], group]) => {
    const retained = (n: number) =>
      group.filter(({ install_uuid, installed_at_ms }) => {
        const since_ms = installed_at_ms + n * day_ms
        const until_ms = since_ms + day_ms
        return events.some((e) => e.install_uuid === install_uuid && inside({ since_ms, until_ms }, e.event_ts_ms))
      }).length
    const [d1, d7, d30] = [retained(1), retained(7), retained(30)]
    const rate = (d: number) => Math.round((d / group.length) * 10_000) / 10_000
    return {
      ...{ day, installs: group.length, d1, d7, d30 },
      ...{ d1_rate: rate(d1), d7_rate: rate(d7), d30_rate: rate(d30) },
    }
  })
  return { rows, missing_rates: [] }
}

function eventsReport(
  events: readonly SentEvent[],
  money: readonly Money[],
  rates: readonly Rate[],
  window: Window,
): ExpectedReport<'events'> {
  const keyOf = (event: SentEvent) => [dayOf(event.event_ts_ms), event.event_name]
  const all = events.filter(({ event_ts_ms }) => inside(window, event_ts_ms))
  const paid = grouped(
    money.filter(({ event_ts_ms }) => inside(window, event_ts_ms)),
    keyOf,
  )
  const rows = grouped(all, keyOf).map(([[day = '', event_name = ''], group]) => ({
    ...{ day, event_name, events: group.length },
    unique_installs: new Set(group.map(({ install_uuid }) => install_uuid)).size,
    revenue_usd: usd(paid.find(([key]) => key[0] === day && key[1] === event_name)?.[1] ?? [], rates),
  }))
  const sums = paid.flatMap(([, group]) => grouped(group, ({ currency }) => [currency]))
  const lacking = sums.filter(
    ([, group]) => group.reduce((sum, { micros }) => sum + micros, 0n) !== 0n && !hasRate(group[0]!, rates),
  )
  return { rows, missing_rates: sortedSet(lacking.map(([[currency = '']]) => currency)) }
}

const sortedSet = (texts: readonly string[]) => [...new Set(texts)].toSorted()

const rateOfMoney = ({ currency, event_ts_ms }: Money, rates: readonly Rate[]): bigint => {
  if (currency === 'USD') return 100_000n
  return BigInt(rateOf(rates, currency, dayOf(event_ts_ms))?.usd_e5 ?? 0)
}
const hasRate = (event: Money, rates: readonly Rate[]) => rateOfMoney(event, rates) !== 0n

/** The sum in USD, shared by `sharers`, rounded once, to 4 places, halves away from zero. */
function usd(money: readonly Money[], rates: readonly Rate[], sharers = 1): number {
  const sum = money.reduce((total, event) => total + event.micros * rateOfMoney(event, rates), 0n)
  const unit = 100n * 100_000n * BigInt(sharers)
  const size = sum < 0n ? -sum : sum
  const places = Number((size * 2n + unit) / (unit * 2n)) / 10_000
  return sum < 0n ? 0 - places : places
}
