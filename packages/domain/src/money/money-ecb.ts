import { CodedError } from '@tributary/contracts/errors'

/** The worth of one EUR on a day: `units` of the currency, as decimal text. */
export interface EcbRate {
  /** `YYYY-MM-DD`. */
  day: string
  /** Three capitals. Some are no longer in ISO 4217, since the file begins in 1999. */
  currency: string
  units: string
}

const columns_max = 400
const lines_max = 50_000
const rateShape = /^\d{1,12}(\.\d{1,12})?$/
const months = ['january', 'february', 'march', 'april', 'may', 'june'].concat([
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
])

/**
 * The rates of a CSV file of the ECB, historical (`2026-01-31`) or daily (`31 January 2026`): a header `Date,USD,...`,
 * one day a line in any order, `N/A` or nothing where there is no rate, perhaps a comma at the end. Throws `bad_csv`
 * with the line; a file is taken as a whole or not at all.
 */
export function readEcbRates(text: string): EcbRate[] {
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/)
  while (lines.at(-1)?.trim() === '') lines.pop()
  if (lines.length > lines_max) throw bad(`More than ${lines_max} lines.`)
  const currencies = readHeader(lines[0] ?? '')
  const days = new Set<string>()
  const rates: EcbRate[] = []
  for (const [index, line] of lines.slice(1).entries()) {
    const where = `Line ${index + 2}`
    const [date = '', ...values] = cellsOf(line)
    const day = readDay(date)
    if (day === null) throw bad(`${where} does not begin with a date.`)
    if (days.has(day)) throw bad(`${where} has a day that came before.`)
    if (values.length > currencies.length) throw bad(`${where} has more cells than the header.`)
    days.add(day)
    rates.push(...readRates(day, currencies, values, where))
  }
  if (rates.length === 0) throw bad('The file holds no rate.')
  return rates
}

function readHeader(line: string): string[] {
  const [first = '', ...currencies] = cellsOf(line)
  if (first.toLowerCase() !== 'date') throw bad('Line 1 must be the header: Date, then currencies.')
  if (currencies.length > columns_max) throw bad(`More than ${columns_max} columns.`)
  const foreign = currencies.find((currency) => !/^[A-Z]{3}$/.test(currency) || currency === 'EUR')
  if (foreign !== undefined) throw bad('The header holds something else than currencies beside EUR.')
  if (new Set(currencies).size < currencies.length) throw bad('The header names a currency twice.')
  return currencies
}

function readRates(day: string, currencies: readonly string[], values: readonly string[], where: string): EcbRate[] {
  return values.flatMap((units, column) => {
    const currency = currencies[column] ?? ''
    if (units === '' || units === 'N/A') return []
    if (!rateShape.test(units) || Number(units) === 0) throw bad(`${where} has no rate for ${currency}, nor N/A.`)
    return [{ day, currency, units }]
  })
}

/** A trailing comma adds no cell. */
function cellsOf(line: string): string[] {
  const cells = line.split(',').map((cell) => cell.trim())
  if (cells.length > 1 && cells.at(-1) === '') cells.pop()
  return cells
}

function readDay(text: string): string | null {
  const [, dayOfMonth = '', month = '', year = ''] = /^(\d{1,2}) ([A-Za-z]+) (\d{4})$/.exec(text) ?? []
  const number = months.indexOf(month.toLowerCase()) + 1
  const day = number > 0 ? `${year}-${String(number).padStart(2, '0')}-${dayOfMonth.padStart(2, '0')}` : text
  if (!/^(19|20)\d\d-\d\d-\d\d$/.test(day)) return null
  const at_ms = Date.parse(day)
  // Date.parse reads the 31st of February as a day in March.
  return Number.isNaN(at_ms) || new Date(at_ms).toISOString().slice(0, 10) !== day ? null : day
}

const bad = (message: string): CodedError => new CodedError('bad_csv', { message })
