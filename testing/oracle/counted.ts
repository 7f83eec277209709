import { day_ms } from '@tributary/contracts/limits'
import { type DecidedInstall, dayOf, type Rate, rateOf, type SentEvent } from './history.ts'
import { sortedSet } from './question.ts'

/** docs/rules.md#idempotency: the first of equal ids on the same or neighbouring days; one `app_install` of an install. */
export function countedEvents<Event extends SentEvent>(sent: readonly Event[]): Event[] {
  const counted: Event[] = []
  for (const event of sent) if (!counted.some((earlier) => areOne(earlier, event))) counted.push(event)
  return counted
}

/** An event whose key holds for ever. */
export const isInstall = ({ event_name, identity_migration }: SentEvent): boolean =>
  event_name === 'app_install' && !identity_migration

function areOne(a: SentEvent, b: SentEvent): boolean {
  if (a.install_uuid !== b.install_uuid || isInstall(a) !== isInstall(b)) return false
  const days = Math.abs(Date.parse(dayOf(a.event_ts_ms)) - Date.parse(dayOf(b.event_ts_ms))) / day_ms
  return isInstall(a) || (a.event_id === b.event_id && days <= 1)
}

/** An event whose money counts, with its amount: negative for refunds. */
export interface Money extends SentEvent {
  micros: bigint
  currency: string
}

/** True for an event that takes money back (docs/rules.md#revenue). */
export const isRefund = ({ event_name }: SentEvent) => /^(purchase|subscription)_refunded$/.test(event_name)

/** docs/rules.md#money-once: of a transaction the best claim alone. */
export function countedMoney<Event extends SentEvent>(events: readonly Event[]): (Event & Money)[] {
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
export function newestVerdicts(decisions: readonly DecidedInstall[]): Map<string, DecidedInstall> {
  const newest = new Map<string, DecidedInstall>()
  for (const decision of decisions) newest.set(decision.install_uuid, decision)
  return new Map([...newest].filter(([, { pending }]) => !pending))
}

export interface Fraction {
  over: bigint
  under: bigint
}

/** Micros of a currency, at a time. */
type Amount = Pick<Money, 'currency' | 'event_ts_ms' | 'micros'>

/** USD of one unit. */
function factorOf({ currency, event_ts_ms }: Omit<Amount, 'micros'>, rates: readonly Rate[]): Fraction | null {
  if (currency === 'USD') return { over: 1n, under: 1n }
  const rate = rateOf(rates, currency, dayOf(event_ts_ms))
  return rate && { over: BigInt(rate.usd_e5), under: BigInt(rate.units_e5) }
}

/** True if the day of the money, or a day before it, has a rate of its currency. */
export const hasRate = (event: Omit<Amount, 'micros'>, rates: readonly Rate[]) => factorOf(event, rates) !== null

/** The sum in micros of USD. Amounts without a rate add nothing. */
export function exactUsd(money: readonly Amount[], rates: readonly Rate[]): Fraction {
  const sum = { over: 0n, under: 1n }
  for (const event of money) {
    const { over, under } = factorOf(event, rates) ?? { over: 0n, under: 1n }
    sum.over = sum.over * under + event.micros * over * sum.under
    sum.under *= under
  }
  return sum
}

/** The sum in USD, shared by `sharers`, rounded once, to 4 places, halves away from zero (docs/rules.md#usd). */
export function usd(money: readonly Money[], rates: readonly Rate[], sharers = 1): number {
  const { over, under } = exactUsd(money, rates)
  return rounded(over, 100n * under * BigInt(sharers))
}

/** Ten-thousandths, rounded to whole ones, halves away from zero. */
export function rounded(over: bigint, under: bigint): number {
  const size = over < 0n ? -over : over
  const places = Number((size * 2n + under) / (under * 2n)) / 10_000
  return over < 0n ? 0 - places : places
}

/** The currencies of amounts that have no rate. */
export const lacking = (money: readonly Amount[], rates: readonly Rate[]): string[] =>
  sortedSet(money.filter((event) => !hasRate(event, rates)).map(({ currency }) => currency))
