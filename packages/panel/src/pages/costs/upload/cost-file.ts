import type { Input } from '../../../api/call.ts'

type Upload = Input<'uploadCosts'>['body']

/** The fields of a cost, as `PUT /api/v1/costs` has them. */
export const fields = [
  'day',
  'partner',
  'campaign',
  'ad_group',
  'country',
  'cost',
  'currency',
  'clicks',
  'impressions',
] as const
export type Field = (typeof fields)[number]

const numeric: ReadonlySet<Field> = new Set(['cost', 'clicks', 'impressions'])
export const needed: ReadonlySet<Field> = new Set(['day', 'partner', 'cost', 'currency'])

/** What other tools call a field. */
const names: Record<Field, readonly string[]> = {
  day: ['day', 'date'],
  partner: ['partner', 'media_source', 'network', 'source', 'channel'],
  campaign: ['campaign', 'campaign_name', 'c'],
  ad_group: ['ad_group', 'adgroup', 'ad_group_name', 'adset', 'ad_set', 'adset_name', 'ad_set_name'],
  country: ['country', 'country_code', 'geo'],
  cost: ['cost', 'spend', 'amount', 'amount_spent'],
  currency: ['currency', 'currency_code'],
  clicks: ['clicks', 'taps'],
  impressions: ['impressions', 'impr'],
}

/** Where the text of a field comes from: a column of the file, or one text for all lines. */
export type Source = { column: string } | { text: string }
export type Mapping = Readonly<Record<Field, Source>>

interface Line {
  /** Its row in the file; that of the heads is 1. */
  row: number
  /** Texts by column. */
  texts: Readonly<Record<string, string>>
}

/** A file of costs: each line by column. */
export interface CostFile {
  name: string
  /** Time of the figures, Unix epoch ms. */
  as_of_ms: number
  columns: string[]
  lines: Line[]
}

/** The columns that fill fields by their own names. */
export function guess(columns: readonly string[]): Mapping {
  const plain = (column: string) =>
    column
      .trim()
      .toLowerCase()
      .replaceAll(/[\s-]+/g, '_')
  const find = (field: Field): Source => {
    const column = columns.find((one) => names[field].includes(plain(one)))
    return column === undefined ? { text: '' } : { column }
  }
  return Object.fromEntries(fields.map((field) => [field, find(field)])) as Record<Field, Source>
}

/** A line as it is sent. A text that is no number stays text, and the service rejects it. */
export function costOf(line: Record<string, string>, mapping: Mapping): Record<string, string | number> {
  const given = fields.map((field): [Field, string | number] => {
    const source = mapping[field]
    const text = ('column' in source ? (line[source.column] ?? '') : source.text).trim()
    const isNumber = numeric.has(field) && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)
    return [field, isNumber ? Number(text) : text]
  })
  return Object.fromEntries(given.filter(([, value]) => value !== ''))
}

/** Bodies of the requests of a file, at most `lines_max` costs each. */
export function* uploadsOf({ lines, as_of_ms }: CostFile, mapping: Mapping, lines_max: number): Generator<Upload> {
  for (let from = 0; from < lines.length; from += lines_max)
    yield { as_of_ms, costs: lines.slice(from, from + lines_max).map(({ texts }) => costOf(texts, mapping)) }
}

/** The fields that name a cost: of two lines with the same name one would be lost. */
const naming = ['day', 'partner', 'campaign', 'ad_group', 'country'] as const
/** Those that mean the same in any case of their letters. */
const caseless: ReadonlySet<Field> = new Set(['partner', 'country'])

/** The rows of the first two lines that name the same cost; null: there are none. */
export function findTwice({ lines }: Pick<CostFile, 'lines'>, mapping: Mapping): [number, number] | null {
  const rows = new Map<string, number>()
  for (const { row, texts } of lines) {
    const cost = costOf(texts, mapping)
    const nameOf = (field: Field) => {
      const name = String(cost[field] ?? '')
      return caseless.has(field) ? name.toLowerCase() : name
    }
    const key = JSON.stringify(naming.map(nameOf))
    const before = rows.get(key)
    if (before !== undefined) return [before, row]
    rows.set(key, row)
  }
  return null
}
