import { PartnerName } from '@tributary/contracts/admin/link-fields'
import { type Cost, type CostReason, costFields } from '@tributary/contracts/costs'
import { isCountry } from '@tributary/contracts/countries'
import { isCurrency } from '@tributary/contracts/currencies'
import { day_ms, limits } from '@tributary/contracts/limits'
import { isJsonObject } from '../accept/accept-event.ts'
import { utcDay } from '../utc-day.ts'

/** Why a cost was rejected; the message is for people. */
export interface CostFault {
  reason: CostReason
  field?: string
  message: string
}

/** A cost to store, or a fault. */
export type JudgedCost = { cost: Cost } | { fault: CostFault }

/** Judges a cost as it was sent by docs/rules.md#costs. The first fault in the order of the fields counts. */
export function judgeCost(sent: unknown, now_ms: number, partnerOf: PartnerOf = findPartner): JudgedCost {
  if (!isJsonObject(sent)) return { fault: { reason: 'missing_required_fields', message: 'A cost is a JSON object.' } }
  const fault = findFault(sent, now_ms, partnerOf)
  return fault === null ? { cost: toCost(sent as unknown as SentCost, partnerOf) } : { fault }
}

/** The name of a partner as it is stored; null for what is none. */
export type PartnerOf = (value: unknown) => string | null

/** The same by the schema that links have. It costs more than all other checks of a cost, and few partners come in an upload. */
export const findPartner: PartnerOf = (value) => PartnerName.safeParse(value).data ?? null

/** The fields of a cost that were checked. */
interface SentCost {
  day: string
  partner: string
  campaign?: string | null
  ad_group?: string | null
  country?: string | null
  cost: number
  currency: string
  clicks?: number | null
  impressions?: number | null
}

const required = ['day', 'partner', 'cost', 'currency'] as const
const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === ''
const known: ReadonlySet<string> = new Set(costFields)

interface Rule {
  field: keyof SentCost
  reason: CostReason
  holds: (value: unknown, now_ms: number, partnerOf: PartnerOf) => boolean
  wanted: string
}

const label_rule = `text of at most ${limits.campaign_chars_max} characters, none of them a control character`
const counts_rule = `a whole number from 0 to ${limits.cost_counts_max}`

const rules: readonly Rule[] = [
  {
    ...{ field: 'day', reason: 'bad_day', holds: isDay },
    wanted: `a UTC date, YYYY-MM-DD, from ${limits.cost_day_min} to tomorrow`,
  },
  {
    ...{ field: 'partner', reason: 'bad_field', holds: (value, _now_ms, partnerOf) => partnerOf(value) !== null },
    wanted: `1 to ${limits.partner_chars_max} of a-z, 0-9, _ and -, and not organic`,
  },
  { field: 'campaign', reason: 'bad_field', holds: isLabel, wanted: label_rule },
  { field: 'ad_group', reason: 'bad_field', holds: isLabel, wanted: label_rule },
  {
    ...{ field: 'country', reason: 'bad_country', wanted: 'a code of ISO 3166-1 alpha-2 such as DE' },
    holds: (value) => typeof value === 'string' && /^[A-Za-z]{2}$/.test(value) && isCountry(value.toUpperCase()),
  },
  {
    ...{ field: 'cost', reason: 'bad_cost', wanted: `a number, not text, from 0 to ${limits.cost_max}` },
    holds: (value) => typeof value === 'number' && value >= 0 && value <= limits.cost_max,
  },
  {
    ...{ field: 'currency', reason: 'unknown_currency', wanted: 'a code of ISO 4217 such as EUR' },
    holds: (value) => typeof value === 'string' && isCurrency(value),
  },
  { field: 'clicks', reason: 'bad_field', holds: isCount, wanted: counts_rule },
  { field: 'impressions', reason: 'bad_field', holds: isCount, wanted: counts_rule },
]

function findFault(sent: Record<string, unknown>, now_ms: number, partnerOf: PartnerOf): CostFault | null {
  const missing = required.find((field) => isAbsent(sent[field]))
  if (missing !== undefined) {
    return { reason: 'missing_required_fields', field: missing, message: `${missing} is absent or empty.` }
  }
  const broken = rules.find(({ field, holds }) => !isAbsent(sent[field]) && !holds(sent[field], now_ms, partnerOf))
  if (broken !== undefined) {
    const { reason, field, wanted } = broken
    return { reason, field, message: `${field} is ${wanted}.` }
  }
  // A misspelt ad_group would put the costs of all ad groups under one key, where the last one counts.
  const unknown = Object.keys(sent).find((field) => !known.has(field))
  if (unknown === undefined) return null
  const field = unknown.slice(0, limits.campaign_chars_max).toWellFormed()
  return { reason: 'bad_field', field, message: `A cost has the fields ${costFields.join(', ')}.` }
}

function isDay(value: unknown, now_ms: number): boolean {
  if (typeof value !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(value)) return false
  const at_ms = Date.parse(`${value}T00:00:00Z`)
  // Some engines read February 31 as a day in March.
  if (Number.isNaN(at_ms) || utcDay(at_ms) !== value) return false
  return value >= limits.cost_day_min && value <= utcDay(now_ms + day_ms)
}

function isLabel(value: unknown): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
  const printable = /^[^\u0000-\u001f\u007f-\u009f]*$/
  return typeof value === 'string' && value.length <= limits.campaign_chars_max && printable.test(value)
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= limits.cost_counts_max
}

const toCost = (
  { day, partner, campaign, ad_group, country, cost, currency, clicks, impressions }: SentCost,
  partnerOf: PartnerOf,
): Cost => ({
  day,
  partner: partnerOf(partner)!,
  campaign: (campaign ?? '').toWellFormed(),
  ad_group: (ad_group ?? '').toWellFormed(),
  country: (country ?? '').toUpperCase(),
  // As exact as revenue (docs/rules.md#revenue): up to 1e9 the product is below 2^53.
  cost_micros: Math.round(Math.abs(cost) * 1e6), // -0 is 0
  currency: currency.toUpperCase(),
  clicks: countOf(clicks),
  impressions: countOf(impressions),
})

/** An empty text is absent, as of all fields. */
const countOf = (value: number | null | undefined | ''): number | null =>
  typeof value === 'number' ? Math.abs(value) : null
