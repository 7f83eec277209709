import type { EurRates } from '@tributary/contracts/currencies'
import { day_ms } from '@tributary/contracts/limits'

/** An app with events spread over `days` days until `now_ms`; every number follows from the size. */
export interface BenchApp {
  app_id: string
  events: number
}

/** Events of the app that the growth is measured against, and of a small app, as shares of the large one. */
export const tenth_share = 0.1
export const small_share = 0.001

/** Days with data: a year, and the day that the window of a year begins in. */
export const days = 366
/** Midnight of the first day with data. */
export const first_ms = Date.UTC(2025, 6, 1)
/**
 * When reports are requested: in the middle of the last day, so that windows have partly covered days at both ends. Nothing is dated later,
 * as in a live product.
 */
export const now_ms = first_ms + (days - 1) * day_ms + 15 * 3_600_000

export const partners = Array.from({ length: 12 }, (_, n) => `partner_${String(n).padStart(2, '0')}`)
export const campaigns = 400
/** 60 codes. */
export const countries = Array.from({ length: 60 }, (_, n) => 'ABCDEFGH'[Math.floor(n / 8)]! + 'KLMNOPQR'[n % 8]!)
/** 40 names: three with a meaning, and levels. */
export const levels = 37
export const currencies = ['USD', 'EUR', 'GBP', 'JPY', 'BRL'] as const

/** What a day of an app has: among 100 events 5 installs, and 22 clicks and 0.9 costs beside them; costs of 7 countries at most. */
export function sizesOf({ events }: BenchApp) {
  const perDay = (share: number) => Math.max(1, Math.round((events * share) / days))
  const installs_a_day = perDay(0.05)
  return {
    installs_a_day,
    events_a_day: Math.max(1, perDay(1) - installs_a_day),
    clicks_a_day: perDay(0.22),
    costs_a_day: Math.min(7 * campaigns, perDay(0.009)),
  }
}

const firstRates: Record<string, number> = { USD: 100_000, EUR: 108_000, GBP: 127_000, JPY: 700, BRL: 18_000 }

/** USD of one unit of a currency on a day, in hundred-thousandths. It changes from day to day. */
export function usdE5(currency: string, day: string): bigint {
  const first = firstRates[currency] ?? 0
  if (currency === 'USD') return BigInt(first)
  return BigInt(first + ((Date.parse(day) / day_ms) % 50) * Math.ceil(first / 1000))
}

/** The same as the service looks rates up. */
export const eurRates = ({ currency, day }: { currency: string; day: string }): EurRates => ({
  usd: (Number(usdE5(currency, day)) / 100_000).toFixed(5),
  units: '1',
})
