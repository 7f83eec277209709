import type { Envelope } from '@tributary/contracts/envelope'
import fc from 'fast-check'

export const day_ms = 24 * 3600 * 1000
export const first_ms = Date.UTC(2026, 2, 1)
export const days = 4

type ReceivedEvent = Envelope['events'][number] & { event_id: string; event_name: string; event_ts_ms: number }

/** Events from pools so small that ids, transactions and days meet. */
const event: fc.Arbitrary<ReceivedEvent> = fc.record({
  event_id: fc.constantFrom('1', '2', '3', '4'),
  event_name: fc.constantFrom('purchase', 'purchase', 'subscribe', 'purchase_refunded', 'level_up'),
  event_ts_ms: fc.integer({ min: first_ms, max: first_ms + days * day_ms - 1 }),
  revenue: fc.constantFrom(null, 4.99, 0.1, 0, 1_234_567.891234, -2),
  currency: fc.constantFrom(null, 'USD', 'eur', 'JPY', 'XAU'),
  transaction_id: fc.constantFrom(null, '', 't1', 't1', 't2', 't3'),
})

/** A request, as one log record; an install is in one partition. */
export const request = fc.record({
  install: fc.integer({ min: 0, max: 3 }),
  source: fc.constantFrom('sdk' as const, 's2s' as const, 'bulk' as const),
  received_ago_ms: fc.constantFrom(0, 0, 5, 1000),
  events: fc.array(event, { minLength: 1, maxLength: 5 }),
})

/** Hundredths of a thousandth: what one EUR was worth on some of the days. */
export const fxTable = fc.uniqueArray(
  fc.record({
    day: fc.integer({ min: -1, max: days }).map((n) => dayText(first_ms + n * day_ms)),
    USD: fc.integer({ min: 80_000, max: 160_000 }),
    JPY: fc.option(fc.integer({ min: 9_000_000, max: 20_000_000 })),
  }),
  { maxLength: 3, selector: ({ day }) => day },
)
export type FxTable = typeof fxTable extends fc.Arbitrary<infer Table> ? Table : never

const dayText = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

interface Entry extends ReceivedEvent {
  install: string
  partition: number
  place: number
  received_at_ms: number
  source: Envelope['source']
}

/** `log` in the order of each partition; every event as docs/rules.md#money-once has it, one by one. */
export function twinReport(
  log: readonly { partition: number; envelope: Envelope }[],
  fx: FxTable,
  window: { since_ms: number; until_ms: number },
) {
  const all = log.flatMap(({ partition, envelope }, record) =>
    (envelope.events as ReceivedEvent[]).map((sent, n): Entry => {
      const { install_uuid: install, received_at_ms, source } = envelope
      return { ...sent, install, partition, place: record * 100 + n, received_at_ms, source }
    }),
  )
  const stored: Entry[] = []
  for (const entry of all) if (!stored.some((other) => isDuplicate(other, entry))) stored.push(entry)
  const groups = new Map<string, Entry[]>()
  for (const entry of stored) {
    if (entry.event_ts_ms < window.since_ms || entry.event_ts_ms >= window.until_ms) continue
    const key = `${dayText(entry.event_ts_ms)} ${entry.event_name}`
    groups.set(key, [...(groups.get(key) ?? []), entry])
  }
  return [...groups.keys()].toSorted().map((key) => {
    const entries = groups.get(key)!
    const [day = '', event_name] = key.split(' ')
    return {
      day,
      event_name,
      events: entries.length,
      unique_installs: new Set(entries.map(({ install }) => install)).size,
      revenue_usd: usd(
        entries.filter((entry) => hasMoney(entry, stored)),
        day,
        fx,
      ),
    }
  })
}

const dayOf = ({ event_ts_ms }: Entry) => Math.floor(event_ts_ms / day_ms)
const isDuplicate = (a: Entry, b: Entry) =>
  a.install === b.install && a.event_id === b.event_id && Math.abs(dayOf(a) - dayOf(b)) <= 1

/** The best of its transaction: a backend's before an SDK's, then the first received, then the first in the log. */
function hasMoney(entry: Entry, stored: readonly Entry[]): boolean {
  if (typeof entry.revenue !== 'number') return false
  if (!entry.transaction_id) return true
  const same = stored.filter(
    ({ revenue, transaction_id, event_name }) =>
      typeof revenue === 'number' && transaction_id === entry.transaction_id && event_name === entry.event_name,
  )
  const backends = same.filter(({ source }) => source !== 'sdk')
  const ranked = backends.length > 0 ? backends : same
  const byArrival = (a: Entry, b: Entry) =>
    a.received_at_ms - b.received_at_ms || a.partition - b.partition || a.place - b.place
  return ranked.toSorted(byArrival)[0] === entry
}

/** All rates are whole numbers of one unit, so USD = micros * USD / rate, over one common denominator. */
function usd(entries: readonly Entry[], day: string, fx: FxTable): number {
  const known = fx.filter((rates) => rates.day <= day).toSorted((a, b) => a.day.localeCompare(b.day))
  const eur = known.at(-1)
  const jpy = known.filter(({ JPY }) => JPY !== null).at(-1)
  const denominator = 100_000n * BigInt(jpy?.JPY ?? 1)
  let total = 0n
  for (const { revenue, currency, event_name } of entries) {
    const micros = BigInt(Math.round(Math.abs(revenue as number) * 1e6)) * ((revenue as number) < 0 ? -1n : 1n)
    const refunded = event_name === 'purchase_refunded' && micros > 0n ? -micros : micros
    if (currency === null || currency === 'USD') total += refunded * denominator
    if (currency === 'eur' && eur) total += (refunded * BigInt(eur.USD) * denominator) / 100_000n
    if (currency === 'JPY' && jpy) total += (refunded * BigInt(jpy.USD) * denominator) / BigInt(jpy.JPY!)
  }
  const whole = total < 0n ? -total : total
  const places = Number((whole + 50n * denominator) / (100n * denominator)) / 10_000
  return total < 0n ? 0 - places : places
}
