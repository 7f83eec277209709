import type { EurRates } from '@tributary/contracts/currencies'
import type { Envelope } from '@tributary/contracts/envelope'
import { day_ms } from '@tributary/contracts/limits'
import type { TestDecision } from '../engines/data/insert-verdicts.ts'

/** An event as a client sent it, alone in its record of the log. */
export interface SentEvent {
  app: number
  install_uuid: string
  /** Partition of the log; all events of an install share one. */
  partition: number
  source: Envelope['source']
  received_at_ms: number
  /** How much the clock of an SDK was slow when it sent the event, in ms; absent where the batch does not say when it was sent. */
  skew_ms?: number | null
  event_id: string
  event_name: string
  event_ts_ms: number
  /** An `app_install` that only joins two identities of a person. */
  identity_migration?: true
  /** It came without a time of its own; `event_ts_ms` is then `received_at_ms`. */
  untimed?: true
  /** The clock of the client, where it tells it. */
  sent_at_ms?: number
  revenue: number | null
  currency: string | null
  transaction_id: string | null
}

export interface DecidedInstall extends TestDecision {
  app: number
}

/** A click as a report sees it. */
export interface ClickRow extends Partial<Record<ClickLabel, string>> {
  app: number
  click_id: string
  clicked_at_ms: number
  partner: string
  /** A filter kept it. */
  filtered: boolean
}
type ClickLabel =
  | ('campaign' | 'ad_group' | 'creative' | 'link_id' | 'country')
  | ('sub1' | 'sub2' | 'sub3' | 'sub4' | 'sub5')

/** A cost of one upload; an upload lacks an absent text. */
export interface CostUpload {
  app: number
  /** UTC, `YYYY-MM-DD`. */
  day: string
  partner: string
  campaign?: string
  ad_group?: string
  country?: string
  cost: number
  currency: string
  as_of_ms: number
}

/** What one EUR is worth from a day on, in hundred-thousandths: in USD, and in units of a currency. */
export interface Rate {
  currency: string
  /** UTC, `YYYY-MM-DD`. */
  day: string
  usd_e5: number
  units_e5: number
}

/** Everything that reports of some apps depend on. */
export interface History {
  /** Entries in the order of the log. */
  events: readonly SentEvent[]
  /** Entries in the order of the log. */
  decisions: readonly DecidedInstall[]
  /** None when absent. */
  clicks?: readonly ClickRow[]
  /** UTC days whose clicks are frozen; `clicks` has none that came later. None when absent. */
  frozen?: readonly string[]
  /** In the order of their uploads; none when absent. */
  costs?: readonly CostUpload[]
}

/** docs/rules.md#age-of-an-event: the time of an event where it is compared with that of its install. */
export function correctedTime({ source, event_ts_ms, received_at_ms, skew_ms }: SentEvent): number {
  if (source !== 'sdk') return event_ts_ms
  const isKnown = typeof skew_ms === 'number' && Math.abs(skew_ms) <= day_ms
  return Math.min(received_at_ms, isKnown ? event_ts_ms + skew_ms : event_ts_ms)
}

/** The UTC day of a time. */
export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** The rate of a day or the last one before it; null without any. */
export const rateOf = (rates: readonly Rate[], currency: string, day: string): Rate | null =>
  rates
    .filter((rate) => rate.currency === currency && rate.day <= day)
    .toSorted((a, b) => (a.day < b.day ? -1 : 1))
    .at(-1) ?? null

/** A look-up of rates as the service makes it. */
export const eurRates =
  (rates: readonly Rate[]) =>
  ({ currency, day }: { currency: string; day: string }): EurRates | null => {
    const rate = rateOf(rates, currency, day)
    return rate && { usd: (rate.usd_e5 / 100_000).toFixed(5), units: (rate.units_e5 / 100_000).toFixed(5) }
  }

/** The history of an app as text, one line an event, a decision or a rate. */
export function historyText(
  { events, decisions, clicks = [], costs = [], frozen = [] }: History,
  app: number,
  rates: readonly Rate[],
): string {
  const ofApp = (one: { app: number }) => one.app === app
  const time = (ms: number) => new Date(ms).toISOString()
  return [
    ...events
      .filter(ofApp)
      .map((e) =>
        [
          ...[`event of ${e.install_uuid}`, time(e.event_ts_ms), e.event_name, `id ${e.event_id}`, e.source],
          ...(e.revenue === null ? [] : [`${e.revenue} ${e.currency ?? 'USD'} ${e.transaction_id ?? ''}`]),
          `received ${time(e.received_at_ms)}`,
          ...(typeof e.skew_ms === 'number' ? [`by a clock ${e.skew_ms} ms slow`] : []),
        ].join(' '),
      ),
    ...decisions
      .filter(ofApp)
      .map((d) =>
        [
          ...[`verdict of ${d.install_uuid}`, time(d.installed_at_ms)],
          ...(d.pending ? ['pending'] : [d.partner, d.attribution_type, d.campaign, d.ad_group, d.country, d.sub1]),
          ...[d.reinstall && 'reinstall', d.flagged && 'flagged'].filter(Boolean),
        ].join(' '),
      ),
    ...clicks.filter(ofApp).map((one) => `click ${time(one.clicked_at_ms)} ${JSON.stringify(one)}`),
    ...frozen.map((day) => `frozen ${day}`),
    ...costs.filter(ofApp).map((one) => `cost ${JSON.stringify(one)}`),
    ...rates.map(({ currency, day, usd_e5, units_e5 }) => `rate ${currency} ${day} ${usd_e5} USD for ${units_e5}`),
  ].join('\n')
}

/** Midnight of a day, counted from the UTC day of `ms`. */
export const midnight = (ms: number, days: number): number => (Math.floor(ms / day_ms) + days) * day_ms
