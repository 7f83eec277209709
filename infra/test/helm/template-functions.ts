import { createHash } from 'node:crypto'
import { parse, stringify } from 'yaml'

type Map = Record<string, unknown>

/** Go also takes nothing, 0, and empty values for false. */
export const isTrue = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length > 0
    : typeof value === 'object' && value !== null
      ? Object.keys(value).length > 0
      : Boolean(value)

const isMap = (value: unknown): value is Map => typeof value === 'object' && value !== null && !Array.isArray(value)
const indent = (width: number, text: string): string => text.replaceAll(/^/gm, ' '.repeat(width))

/** `sets` wins where both have a value; maps are joined. */
function joined(into: Map, from: Map, overwrites: boolean): Map {
  for (const [key, value] of Object.entries(from)) {
    const known = into[key]
    if (isMap(known) && isMap(value)) joined(known, value, overwrites)
    else if (overwrites || known === undefined) into[key] = value
  }
  return into
}

function printf(format: string, ...args: unknown[]): string {
  const left = [...args]
  return format.replaceAll(/%[sdvq]/g, () => String(left.shift()))
}

/** The functions of Go's templates, of Sprig and of Helm that the chart uses; arguments as they have them, the piped value last. */
export const functions: Record<string, (...args: never[]) => unknown> = {
  and: (...args: unknown[]) => args.find((one) => !isTrue(one)) ?? args.at(-1),
  or: (...args: unknown[]) => args.find(isTrue) ?? args.at(-1),
  not: (value: unknown) => !isTrue(value),
  eq: (one: unknown, ...others: unknown[]) => others.includes(one),
  ne: (one: unknown, other: unknown) => one !== other,
  printf,
  quote: (value: unknown) => JSON.stringify(String(value)),
  trim: (text: string) => text.trim(),
  replace: (from: string, to: string, text: string) => text.replaceAll(from, to),
  regexReplaceAll: (pattern: string, text: string, to: string) =>
    text.replaceAll(new RegExp(pattern, 'g'), to.replaceAll(/\$\{(\d+)\}/g, '$$$1')),
  sha256sum: (text: string) => createHash('sha256').update(text).digest('hex'),
  nindent: (width: number, text: string) => `\n${indent(width, text)}`,
  default: (otherwise: unknown, value?: unknown) => (isTrue(value) ? value : otherwise),
  list: (...args: unknown[]) => args,
  prepend: (list: unknown[], value: unknown) => [value, ...list],
  concat: (...lists: unknown[][]) => lists.flat(),
  has: (value: unknown, list: unknown[]) => list.includes(value),
  sortAlpha: (list: string[]) => [...list].sort(),
  dict: (...args: unknown[]) =>
    Object.fromEntries(args.flatMap((key, at) => (at % 2 === 0 ? [[key, args[at + 1]]] : []))),
  get: (map: Map, key: string) => map[key] ?? '',
  hasKey: (map: Map, key: string) => key in map,
  keys: (map: Map) => Object.keys(map),
  deepCopy: (value: unknown) => structuredClone(value),
  merge: (into: Map, from: Map) => joined(into, from, false),
  mergeOverwrite: (into: Map, from: Map) => joined(into, from, true),
  toYaml: (value: unknown) =>
    stringify(value, { sortMapEntries: true, lineWidth: 0, indentSeq: false, version: '1.1' }).trimEnd(),
  fromYaml: (text: string) => parse(text) as unknown,
  fail: (message: string) => {
    throw new Error(message)
  },
}
