import { countedEvents, countedMoney, hasRate, isRefund, lacking, type Money, newestVerdicts, usd } from './counted.ts'
import { attributionReport, cohortsReport, ltvReport } from './expected-installs.ts'
import { performanceReport } from './expected-performance.ts'
import type { DecidedInstall, History, Rate, SentEvent } from './history.ts'
import { type ExpectedReport, grouped, inside, isLabelled, keyOfPeriod, passes, type Question } from './question.ts'

/**
 * The reports of an app by the words of docs/rules.md#reports: loops over events and decisions, without days that are
 * counted before, and without SQL. Slow and plain, so that a reader can check it. They hold all rows, on one page.
 */
export function expectedReports(history: History, app: number, rates: readonly Rate[]) {
  const events = countedEvents(history.events.filter((event) => event.app === app))
  const installs = newestVerdicts(history.decisions.filter((decision) => decision.app === app))
  const money = countedMoney(events)
  const clicks = (history.clicks ?? []).filter((click) => click.app === app)
  const costs = (history.costs ?? []).filter((cost) => cost.app === app)
  return {
    attribution: (question: Question) => attributionReport(installs, question),
    revenue: (question: Question) => revenueReport(money, installs, rates, question),
    cohorts: (question: Question) => cohortsReport(events, installs, question),
    events: (question: Question) => eventsReport(events, money, rates, question),
    ltv: (question: Question) => ltvReport(money, installs, rates, question),
    performance: (question: Question) =>
      performanceReport({ events, money, installs, clicks, frozen: history.frozen ?? [], costs, rates }, question),
    // A history has no postbacks and no receipts, and costs are asked by a test of their own: its events and verdicts must make no row here.
    skan: (_question: Question): ExpectedReport => ({ rows: [], missing_rates: [] }),
    costs: (_question: Question): ExpectedReport => ({ rows: [], missing_rates: [] }),
    receipts: (_question: Question): ExpectedReport => ({ rows: [], missing_rates: [] }),
  }
}

function revenueReport(
  money: readonly Money[],
  installs: ReadonlyMap<string, DecidedInstall>,
  rates: readonly Rate[],
  question: Question,
): ExpectedReport {
  const partnerOf = ({ install_uuid }: Money) => installs.get(install_uuid)?.partner ?? 'organic'
  const all = money.filter(
    (event) =>
      inside(question, event.event_ts_ms) &&
      passes(question.partner, partnerOf(event)) &&
      isLabelled(question, installs.get(event.install_uuid)),
  )
  const rows = grouped(all, (event) => [keyOfPeriod(question, event.event_ts_ms), partnerOf(event)])
  return {
    rows: rows.map(([[day = '', partner = ''], group]) => {
      const purchases = group.filter((event) => !isRefund(event))
      const payments = purchases.filter((event) => event.micros > 0n && hasRate(event, rates))
      const paying = new Set(payments.map(({ install_uuid }) => install_uuid)).size
      return {
        ...{ day, partner, purchases: purchases.length, revenue_usd: usd(group, rates) },
        arppu_usd: paying === 0 ? 0 : usd(group, rates, paying),
      }
    }),
    missing_rates: lacking(all, rates),
  }
}

function eventsReport(
  events: readonly SentEvent[],
  money: readonly Money[],
  rates: readonly Rate[],
  question: Question,
): ExpectedReport {
  const isAsked = (event: SentEvent) =>
    inside(question, event.event_ts_ms) && passes(question.event_name, event.event_name)
  const keyOf = (event: SentEvent) => [keyOfPeriod(question, event.event_ts_ms), event.event_name]
  const paid = money.filter(isAsked)
  const paidOf = new Map(grouped(paid, keyOf).map(([key, group]) => [JSON.stringify(key), group]))
  const rows = grouped(events.filter(isAsked), keyOf).map(([key, group]) => ({
    ...{ day: key[0]!, event_name: key[1]!, events: group.length },
    unique_installs: new Set(group.map(({ install_uuid }) => install_uuid)).size,
    revenue_usd: usd(paidOf.get(JSON.stringify(key)) ?? [], rates),
  }))
  return { rows, missing_rates: lacking(paid, rates) }
}
