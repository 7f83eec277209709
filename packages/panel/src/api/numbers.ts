/** How the panel writes numbers. Null is `-` everywhere: it is not 0. */
export const none = '-'

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 2 })
const rates = new Intl.NumberFormat('en-US', { style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1 })
const shortRates = new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: 1 })
const exact = new Intl.NumberFormat('en-US', { maximumFractionDigits: 6 })

type Value = number | null | undefined
const write = (value: Value, format: Intl.NumberFormat) =>
  value === null || value === undefined ? none : format.format(value)

export const count = (value: Value): string => write(value, whole)
export const compact = (value: Value): string => write(value, short)
export const rate = (value: Value): string => write(value, rates)
/** A rate as at an axis: `50%`. */
export const percent = (value: Value): string => write(value, shortRates)
export const exactly = (value: Value): string => write(value, exact)

const moneyFormats = new Map<string, Intl.NumberFormat>()

/** Money with its currency. A code that the browser does not know stands before the number. */
export function money(value: Value, currency = 'USD'): string {
  if (value === null || value === undefined) return none
  let format = moneyFormats.get(currency)
  if (format === undefined) {
    format = moneyFormat(currency)
    moneyFormats.set(currency, format)
  }
  return format.format(value)
}

function moneyFormat(currency: string): Intl.NumberFormat {
  try {
    return new Intl.NumberFormat('en-US', { style: 'currency', currency })
  } catch {
    return new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
  }
}

/** The same for a large figure: without cents from 1000 on. The exact value is on hover. */
export const shortMoney = (value: Value, currency = 'USD'): string =>
  typeof value === 'number' && Math.abs(value) >= 1000
    ? money(Math.round(value), currency).replace(/\.00$/, '')
    : money(value, currency)

/** The change against a value before; null where there is nothing to compare with. */
export const changeOf = (now: Value, before: Value): number | null =>
  now === null || now === undefined || before === null || before === undefined || before === 0
    ? null
    : (now - before) / Math.abs(before)

export const signed = (value: number): string => `${value > 0 ? '+' : value < 0 ? '−' : ''}${rate(Math.abs(value))}`

const utc = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' })
const local = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' })
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', timeZone: 'UTC' })
const dayMonth = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const dayMonthYear = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })

export const time = (ms: Value): string => (typeof ms === 'number' ? `${utc.format(ms)} UTC` : none)
export const localTime = (ms: Value): string => (typeof ms === 'number' ? local.format(ms) : none)
export const timeOfDay = (ms: number): string => clock.format(ms)
export const shortDay = (day: string): string => dayMonth.format(Date.parse(`${day}T00:00:00Z`))
export const longDay = (day: string): string => dayMonthYear.format(Date.parse(`${day}T00:00:00Z`))

/** A length of time in its largest unit. */
export function duration(ms: number): string {
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
  ] as const
  const [unit, length] = units.find(([, size]) => Math.abs(ms) >= size) ?? units[3]
  return `${Math.round(ms / length)} ${unit}`
}
