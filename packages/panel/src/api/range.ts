import { serverNow } from './clock.ts'

export const day_ms = 86_400_000

export const presets = ['1d', 'yesterday', '7d', '14d', '30d', '90d', 'month', 'last-month'] as const
export type Preset = (typeof presets)[number]
const defaultPreset: Preset = '7d'

/** A window of whole UTC days: `until_ms` is exclusive. */
export interface Window {
  since_ms: number
  until_ms: number
}

/** The words of an address that name a window: a preset, or a first and a last day. */
export interface RangeWords {
  range?: string | undefined
  from?: string | undefined
  to?: string | undefined
}

const dayOf = (text: string | undefined): number | null => {
  if (text === undefined || !/^\d{4}-\d\d-\d\d$/.test(text)) return null
  const ms = Date.parse(`${text}T00:00:00Z`)
  return Number.isNaN(ms) ? null : ms
}
export const toDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

export const presetOf = ({ range }: RangeWords): Preset => presets.find((one) => one === range) ?? defaultPreset

/** When the first and the last day of an address begin; null unless it names both, in order. */
function givenDays({ from, to }: RangeWords): { first_ms: number; last_ms: number } | null {
  const [first_ms, last_ms] = [dayOf(from), dayOf(to)]
  return first_ms === null || last_ms === null || first_ms > last_ms ? null : { first_ms, last_ms }
}

export const isCustom = (words: RangeWords): boolean => givenDays(words) !== null

/**
 * The window of an address. Presets begin and end at UTC midnight by the clock of the service: the same request comes again all
 * day, so its answer can be confirmed by its tag.
 */
export function windowOf(words: RangeWords, now_ms = serverNow()): Window {
  const given = givenDays(words)
  if (given !== null) return { since_ms: given.first_ms, until_ms: given.last_ms + day_ms }
  const until_ms = Math.floor(now_ms / day_ms) * day_ms + day_ms
  const now = new Date(now_ms)
  /** When a month begins, by its number after this one. */
  const month = (n: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + n, 1)
  const preset = presetOf(words)
  if (preset === 'month') return { since_ms: month(0), until_ms }
  if (preset === 'last-month') return { since_ms: month(-1), until_ms: month(0) }
  if (preset === 'yesterday') return { since_ms: until_ms - 2 * day_ms, until_ms: until_ms - day_ms }
  return { since_ms: until_ms - Number.parseInt(preset, 10) * day_ms, until_ms }
}

/** The window before, of the same length. */
export const before = ({ since_ms, until_ms }: Window): Window => ({
  since_ms: 2 * since_ms - until_ms,
  until_ms: since_ms,
})

/** Each day of a window. */
export const daysOf = ({ since_ms, until_ms }: Window): string[] =>
  Array.from({ length: Math.max(0, Math.ceil((until_ms - since_ms) / day_ms)) }, (_, n) => toDay(since_ms + n * day_ms))
