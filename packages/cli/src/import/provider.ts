import { isCountry } from '@tributary/contracts/countries'

/** A row of an export by the name of its column (`columnName`); empty cells are absent. */
export type Row = Readonly<Record<string, string>>

/** Columns that may hold a field; of several the first that a row has counts. */
type Columns<Field extends string> = Readonly<Record<Field, readonly string[]>>

/** A service whose exports of installs and in-app events can be imported. */
export interface Provider {
  /** Also the `source` of the attributions. */
  name: string
  /** Columns of ids of an install. The first one that a file has names all its installs, else rows of one install would part. */
  install_columns: readonly string[]
  /** Groups of columns; a file has at least one of each group. */
  needed_columns: readonly (readonly string[])[]
  /** Columns of the user and the device of every row. */
  user: Columns<'user_id' | 'platform' | 'os_version' | 'model' | 'ip' | 'gaid' | 'idfa' | 'idfv'>
  /** Columns of an install and of its attribution. */
  install: Columns<'event_ts_ms' | 'campaign' | 'ad_group' | 'creative' | 'country' | 'attributed_at_ms'> &
    Partial<Columns<'sub1' | 'sub2' | 'sub3' | 'sub4' | 'sub5'>>
  /** The partner of an install, an event without its user and device, or the reason why the row is skipped. */
  read(row: Row): { partner: string } | ({ event_name: string; event_ts_ms: Time } & Fields) | { skipped: string }
}

/** Fields of an event. Values that the service refuses stay as they are. */
type Fields = Record<string, unknown>
type Time = number | string | undefined

/** The event of a row for `/s2s/events/bulk`, without its install and mostly without `event_id`; or why the row is skipped. */
export function toEvent({ name: source, user, install, read }: Provider, row: Row): Fields | { skipped: string } {
  const found = read(row)
  if ('skipped' in found) return found
  const { user_id, platform, ...device } = textsOf(row, user)
  const about = { user_id, platform: platformOf(platform), device: present(device) }
  if ('event_name' in found) {
    const { event_name, event_ts_ms, ...fields } = found
    return { event_name, event_ts_ms, ...about, ...fields }
  }
  const { event_ts_ms, ...stated } = textsOf(row, install)
  const { country, attributed_at_ms } = stated
  return {
    event_name: 'app_install',
    event_ts_ms: timeOf(event_ts_ms),
    ...about,
    attribution: present({
      partner: found.partner,
      ...stated,
      country: countryOf(country),
      attributed_at_ms: timeOf(attributed_at_ms),
      source,
    }),
  }
}

const textsOf = <Field extends string>(row: Row, columns: Partial<Columns<Field>>) =>
  Object.fromEntries(
    Object.entries(columns).map(([field, names]) => [field, firstOf(row, ...(names as readonly string[]))]),
  ) as Partial<Record<Field, string>>

/** One form of a column's name: `Media Source`, `media_source` and `{media_source}` are the same column. */
export const columnName = (header: string): string =>
  header
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '')

/** The first cell that is there. */
export const firstOf = (row: Row, ...columns: string[]): string | undefined =>
  columns.map((column) => row[column]).find((text) => text !== undefined)

/** Unix ms of a UTC time such as `2026-03-01 12:00:00.123`, or of Unix seconds or ms; a text that is no time stays. */
export function timeOf(text: string | undefined): Time {
  if (text === undefined) return undefined
  if (/^\d{12,14}$/.test(text)) return Number(text)
  if (/^\d{9,11}(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000)
  const parts = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2}(?:\.\d+)?)(Z|[+-]\d{2}:?\d{2})?$/.exec(text)
  const at_ms = parts === null ? Number.NaN : Date.parse(`${parts[1]}T${parts[2]}${parts[3] ?? 'Z'}`)
  return Number.isNaN(at_ms) ? text : at_ms
}

/** The first amount that is there, with its currency; amounts of 0 are none. */
export function moneyOf(...amounts: { revenue?: string | undefined; currency?: string | undefined }[]) {
  const found = amounts.find(({ revenue }) => revenue !== undefined && Number(revenue) !== 0)
  if (found === undefined) return {}
  const { revenue = '', currency } = found
  const is_number = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(revenue)
  return { revenue: is_number ? Number(revenue) : revenue, ...(currency !== undefined && { currency }) }
}

/** The name of a partner as links have it: `Facebook Ads` is `facebook_ads`. */
export function partnerOf(network: string | undefined): string {
  if (network === undefined) return 'organic'
  const name = network.toLowerCase().replace(/[^a-z0-9_-]+/g, '_')
  const trimmed = name.replace(/^_+|_+$/g, '')
  return trimmed === '' ? network : trimmed
}

/** The code of a country; undefined for texts that are none, such as `N/A`: an install is worth more than its country. */
function countryOf(text: string | undefined): string | undefined {
  const code = text?.toUpperCase() ?? ''
  if (code === 'UK') return 'GB'
  return isCountry(code) ? code : undefined
}

/** The object of a JSON cell; another text becomes its `value`. */
export function propsOf(text: string | undefined): Record<string, unknown> | undefined {
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
    return { value }
  } catch {
    return { value: text }
  }
}

/** The text of a field of an object; undefined when it is empty, or neither text nor number. */
export function textIn(object: Record<string, unknown> | undefined, ...fields: string[]): string | undefined {
  for (const field of fields) {
    const value = object?.[field]
    if (typeof value === 'number' || (typeof value === 'string' && value !== '')) return String(value)
  }
  return undefined
}

/** Without the members that are absent; undefined when none is left. */
function present<T extends object>(fields: T): T | undefined {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as T)
}

const platforms: Record<string, string> = { ios: 'ios', ipados: 'ios', android: 'android' }

/** The platform of a row; another system stays as it is, and the service refuses the row. */
function platformOf(text: string | undefined): string | undefined {
  const name = text?.toLowerCase()
  return name === undefined ? undefined : (platforms[name] ?? name)
}
