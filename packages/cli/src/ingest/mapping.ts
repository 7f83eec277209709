import { usageError } from '../errors.ts'

export interface Mapping {
  /** CSV: column to field. An empty field skips the column. Other columns fill the field of their own name. */
  map: ReadonlyMap<string, string>
  /** Fields with the same value on every line. */
  set: ReadonlyMap<string, string>
  /** Texts that mean "no value", including the empty text. */
  absent: ReadonlySet<string>
}

/** Reads `--map column=field`, `--set field=value` and `--absent text`. Throws a usage error. */
export function parseMapping(map: readonly string[], set: readonly string[], absent: readonly string[]): Mapping {
  return { map: pairs('--map', map), set: pairs('--set', set), absent: new Set(['', ...absent]) }
}

function pairs(option: string, texts: readonly string[]): Map<string, string> {
  const entries = texts.map((text): [string, string] => {
    const at = text.indexOf('=')
    if (at < 1) throw usageError(`${option} ${text}: the form is name=value.`)
    return [text.slice(0, at), text.slice(at + 1)]
  })
  return new Map(entries)
}

type Fields = Record<string, unknown>

/** Sets one field. `props.NAME` and `device.NAME` go into those objects. */
export function put(event: Fields, field: string, text: string): void {
  const [, outer, inner] = /^(props|device)\.(.+)$/s.exec(field) ?? []
  if (outer === undefined || inner === undefined) {
    event[field] = typed(field, text)
    return
  }
  event[outer] ??= Object.create(null)
  const object = event[outer] as Fields
  if (typeof object === 'object') object[inner] = text
}

/** Converts the fields with numbers and times. Other text stays text, and the service rejects the line if it must. */
function typed(field: string, text: string): unknown {
  if (field === 'revenue' && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return Number(text)
  if (field !== 'event_ts_ms') return text
  if (/^\d+$/.test(text)) return Number(text)
  const is_time = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/.test(text)
  const at_ms = is_time ? Date.parse(text.replace(' ', 'T')) : Number.NaN
  return Number.isNaN(at_ms) ? text : at_ms
}

/**
 * A JSON line with the constants of a mapping, whatever it has in their place, and without texts that mean no value. An empty
 * text stays: in JSON it is one. What is no object stays as it is.
 */
export function mapped(json: string, { set, absent }: Mapping): string {
  if (set.size === 0 && absent.size === 1) return json
  const event = parsed(json)
  if (event === null) return json
  const isAbsent = (value: unknown) => typeof value === 'string' && value !== '' && absent.has(value)
  for (const fields of [event, event.props, event.device].filter(isObject))
    for (const [name, value] of Object.entries(fields)) if (isAbsent(value)) delete fields[name]
  for (const [field, value] of set) put(event, field, value)
  return JSON.stringify(event)
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function parsed(json: string): Fields | null {
  try {
    const value: unknown = JSON.parse(json)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}
