import type { Random } from '../random.ts'
import { type JsonTree, listOf, printTree, setAt, spotsOf, toTree, valueAt } from './json-tree.ts'

const deep = (levels: number, open: string, close: string) => open.repeat(levels) + close.repeat(levels)

/** Valid and invalid JSON texts that some field may not expect. */
const values: readonly string[] = [
  ...['null', 'true', 'false', '0', '-0', '-1', '1', '1.5', '1e400', '-1e400', '1e-400', '1e308', '1e9', '1000000001'],
  ...['9007199254740993', '1'.repeat(400), `0.${'3'.repeat(400)}`, '1262304000000', '4102444800000', '253402300800000'],
  ...['""', '" "', '"\\u0000"', '"a\\u0000b"', '"\\ud800"', '"\\udc00\\ud800"', '"\\ufeff"', '"\\u202e"', '"\\n"'],
  ...['"\u{1F4A5}"', '"e\u0301"', '"USD"', '"usd"', '"XXX"', '"ios"', '"android"', '"IOS"', '"2026-01-01"', '"1"'],
  ...['"__proto__"', '"constructor"', '"app_install"', '"purchase_refunded"', '"\'; DROP TABLE events; --"', '"{}"'],
  ...['"../../etc/passwd"', '"%00"', '"{app_id:String}"', '"\\\\"', '"\\""', '"\\/"', '"<script>"', '"{{jndi:x}}"'],
  ...[64, 65, 128, 129, 256, 257, 5000].map((length) => `"${'x'.repeat(length)}"`),
  ...[64, 128, 200].map((length) => `"${'\u{1F4A5}'.repeat(length)}"`),
  ...['[]', '{}', '[[]]', '[null]', '{"":{}}', '{"__proto__":{"a":1}}', '{"toJSON":1}', '{"then":1}', '{"length":-1}'],
  ...[7, 8, 9, 64, 3000].flatMap((n) => [deep(n, '[', ']'), `${'{"a":'.repeat(n)}1${'}'.repeat(n)}`]),
  // invalid JSON
  ...['NaN', 'Infinity', 'undefined', '01', '+1', '.5', '1.', '0x10', "'a'", '{"a":1,}', '[1,]', '"\\x41"', '"\u0000"'],
  ...['"unclosed', '', ' ', '/**/1', '"\t"', '"\\u12"', '\ufeff1', '[1 2]', '{"a" 1}', '{1:1}', '--1', '1e', 'nul'],
]

const keys: readonly string[] = [
  ...['__proto__', 'constructor', 'prototype', 'toJSON', 'then', 'toString', 'hasOwnProperty', 'length', '', ' ', '0'],
  ...['event_id', 'event_name', 'install_uuid', 'event_ts_ms', 'revenue', 'currency', 'props', 'device', 'user_id'],
  ...['events', 'sent_at_ms', 'platform', 'transaction_id', 'app_id', 'company_id', 'identity_migration', 'receipt'],
  ...['\u0000', '\ufeff', '\u{1F4A5}', 'k'.repeat(129), 'k'.repeat(20_000)],
].map((key) => JSON.stringify(key))
const rawKeys: readonly string[] = [...keys, '"\\ud800"', '"\\u005f_proto__"', '"event\\u005fid"']

const large = ['s'.repeat(70_000), '\\u001f'.repeat(12_000), '\\ud800'.repeat(3000)].map((text) => `"${text}"`)

function anyValue(random: Random): JsonTree {
  if (random.chance(0.02)) return { raw: random.pick(large) }
  if (random.chance(0.1)) return { raw: `"${random.hex(16)}"` }
  return { raw: random.pick(values) }
}

/** Long lists are rare, because each costs as much as a hundred other requests. */
const repeats = (random: Random) => (random.chance(0.02) ? random.pick([499, 500, 501, 999, 1000, 1001]) : 2)

function changeOnce(tree: JsonTree, random: Random): void {
  const spots = spotsOf(tree)
  if (spots.length === 0) return
  const spot = random.pick(spots)
  const value = valueAt(spot)
  const list = listOf(spot.holder)
  switch (random.below(10)) {
    case 0:
      list.splice(spot.index, 1)
      break
    case 1: // the same again; for a member this duplicates a key
      list.push(list[spot.index])
      break
    case 2: // a duplicate key with another value, before or after
      if ('members' in spot.holder) {
        const [key] = spot.holder.members[spot.index]!
        list.splice(random.below(list.length + 1), 0, [key, anyValue(random)])
      } else list.splice(spot.index, 0, anyValue(random))
      break
    case 3:
      if ('members' in spot.holder) spot.holder.members[spot.index]![0] = random.pick(rawKeys)
      break
    case 4:
      if ('members' in spot.holder) list.push([random.pick(rawKeys), anyValue(random)])
      break
    case 5:
      setAt(spot, random.chance(0.5) ? { items: [value] } : { members: [[random.pick(rawKeys), value]] })
      break
    case 6:
      if ('items' in value && value.items.length > 0) {
        const item = random.pick(value.items)
        for (let left = repeats(random) - value.items.length; left > 0; left -= 1) value.items.push(item)
      }
      break
    case 7:
      setAt(spot, valueAt(random.pick(spots.filter((other) => !contains(valueAt(other), spot.holder)))) ?? value)
      break
    default:
      setAt(spot, anyValue(random))
  }
}

/** Whether the tree contains the holder: a tree that contains itself could not be printed. */
const contains = (tree: JsonTree, holder: JsonTree): boolean =>
  tree === holder || spotsOf(tree).some((spot) => spot.holder === holder || valueAt(spot) === holder)

/** The JSON text of a value with one to four changes. One in eight is unchanged. */
export function mutateJson(value: unknown, random: Random): string {
  const tree = toTree(value)
  if (random.chance(0.12)) return printTree(tree)
  if (random.chance(0.02)) return printTree(anyValue(random))
  for (let left = 1 + random.below(random.chance(0.7) ? 1 : 4); left > 0; left -= 1) changeOnce(tree, random)
  return printTree(tree)
}
