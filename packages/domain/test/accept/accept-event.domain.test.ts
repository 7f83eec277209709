import { EventFields } from '@tributary/contracts/event'
import { eventFieldNames } from '@tributary/contracts/event-fields'
import { limits } from '@tributary/contracts/limits'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type EventFault, findEventFault } from '../../src/accept/accept-event.ts'

const now_ms = Date.UTC(2026, 5, 1)
const good = { event_id: 'e-1', event_name: 'purchase', install_uuid: 'i-1', event_ts_ms: now_ms }
const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) })
const ofBytes = (bytes: number) => ({ a: 'x'.repeat(bytes - 8) })

/** The same verdict by the slow way: presence by hand, everything else by the zod schema. */
function faultBySchema(event: unknown, source: 'sdk' | 's2s'): { reason: string; fields: string[] } | null {
  const parsed = EventFields.safeParse(event)
  const fields = parsed.success ? [] : parsed.error.issues.map((issue) => String(issue.path[0] ?? ''))
  if (typeof event !== 'object' || event === null || Array.isArray(event)) {
    return { reason: 'missing_required_fields', fields: [''] }
  }
  const given = event as Record<string, unknown>
  const has = (field: string) => given[field] !== undefined && given[field] !== null && given[field] !== ''
  const noId = given.event_id === undefined || given.event_id === null
  if (source === 'sdk' && (noId || fields.includes('event_id'))) return { reason: 'bad_event_id', fields: [''] }
  const required = ['install_uuid', 'event_ts_ms', 'event_name'].find(
    (field) => !has(field) && !(source === 'sdk' && field === 'event_ts_ms' && given[field] !== ''),
  )
  if (required) return { reason: 'missing_required_fields', fields: [required] }
  if (fields.includes('event_id')) return { reason: 'bad_event_id', fields: [''] }
  if (!fields.includes('install_uuid') && !fields.includes('event_name') && !fields.includes('event_ts_ms')) {
    const ts = given.event_ts_ms as number | null | undefined
    if (typeof ts === 'number' && (ts < limits.event_ts_ms_min || ts > now_ms + limits.event_ts_ahead_ms_max)) {
      return { reason: 'event_ts_ms_out_of_range', fields: ['event_ts_ms'] }
    }
  }
  return fields.length > 0 ? { reason: 'invalid_field', fields } : null
}

const cut = (field: string) => field.slice(0, limits.event_id_chars_max).toWellFormed()
function expectSame(fault: EventFault | null, bySchema: ReturnType<typeof faultBySchema>) {
  expect(fault?.reason ?? null).toBe(bySchema?.reason ?? null)
  if (fault && bySchema) expect(bySchema.fields.map(cut)).toContain(fault.field ?? '')
}

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '\u0000', 'a\u007f', '\u0085', '\ud800', 'x\udc00y', 'é', '__proto__', 'a\nb', 'Uſd', 'ıNR'),
  fc.constantFrom(64, 65, 128, 129, 256, 257, 5000).map((length) => 'n'.repeat(length)),
)
const scalar = fc.oneof(
  text,
  fc.constantFrom(null, true, false, 0, -0, 1.5, -1, 1e9, -1e9, 1e9 + 1, 1e20, Number.POSITIVE_INFINITY, now_ms),
  fc.constantFrom('usd', 'EUR', 'XXX', 'xts', 'XAU', 'abc', 'US', 'ios', 'Android'),
)
const tree = fc.oneof(
  scalar,
  fc.object({ maxDepth: 3, key: text, values: [scalar] }),
  fc.array(scalar, { maxLength: 4 }),
  fc.constantFrom(0, 1, 7, 8, 9, 30).map(nested),
  fc.constantFrom(8, 9).map((depth) => [nested(depth - 1)]),
  fc
    .tuple(fc.constantFrom(limits.object_json_bytes_max, limits.extra_json_bytes_max), fc.constantFrom(-60, -1, 0, 1))
    .map(([bytes, delta]) => ofBytes(bytes + delta)),
  fc.constantFrom(2730, 2731, 16000, 5461).map((length) => ({ a: '\u0001'.repeat(length), é: 'é'.repeat(100) })),
)
const receipts = fc.oneof(
  tree,
  fc.constantFrom(-1, 0, 1).map((delta) => ofBytes(limits.receipt_bytes_max + delta)),
  fc.constantFrom(30_000, 40_000).map((length) => ({ store: 'apple', jws: 'x'.repeat(length) })),
)
const sale = fc.tuple(tree, receipts, fc.boolean()).map(([props, receipt, is_first]) => {
  const others = typeof props === 'object' && props !== null && !Array.isArray(props) ? props : { props }
  return is_first ? { receipt, ...others } : { ...others, receipt }
})
const field = fc.constantFrom(...eventFieldNames, ...['__proto__', 'constructor', 'other', 'x'.repeat(300)])
const hostileEvent = fc
  .tuple(
    fc.boolean(),
    fc.array(fc.tuple(fc.oneof({ weight: 4, arbitrary: field }, text), tree), { maxLength: 4 }),
    fc.option(sale, { nil: undefined, freq: 4 }),
  )
  .map(([fromGood, changes, props]) => {
    // by way of JSON text, as on the wire: `__proto__` becomes an own key, Infinity is written 1e400
    const sold: [string, unknown][] = props === undefined ? [] : [['props', props]]
    const members = [...(fromGood ? Object.entries(good) : []), ...changes, ...sold].map(
      ([key, value]) => `${JSON.stringify(key)}:${wire(value)}`,
    )
    return JSON.parse(`{${members.join(',')}}`) as unknown
  })
const wire = (value: unknown): string =>
  value === Number.POSITIVE_INFINITY ? '1e400' : (JSON.stringify(value) ?? 'null')

describe('accepting an event', () => {
  test.each(['sdk', 's2s'] as const)('%s: the hand-written check says what the schema says', (source) => {
    fc.assert(
      fc.property(fc.oneof({ weight: 20, arbitrary: hostileEvent }, tree), (event) =>
        expectSame(findEventFault(event, source, now_ms), faultBySchema(event, source)),
      ),
      { numRuns: 3000 },
    )
  })

  test.each<[string, Record<string, unknown>, string | null, string?]>([
    ['null is absent', { user_id: null, revenue: null, props: null, currency: null, platform: null }, null],
    ['an id that is no string is a bad id', { event_id: 7 }, 'bad_event_id'],
    ['an id of 128 characters passes', { event_id: 'e'.repeat(128) }, null],
    ['an id of 129 characters is refused', { event_id: 'e'.repeat(129) }, 'bad_event_id'],
    ['an id with a space is refused', { event_id: 'a b' }, 'bad_event_id'],
    ['seconds are no milliseconds', { event_ts_ms: now_ms / 1000 }, 'event_ts_ms_out_of_range', 'event_ts_ms'],
    ['24 h ahead passes', { event_ts_ms: now_ms + 86_400_000 }, null],
    [
      'more than 24 h ahead is refused',
      { event_ts_ms: now_ms + 86_400_001 },
      'event_ts_ms_out_of_range',
      'event_ts_ms',
    ],
    ['the first millisecond of 2010 passes', { event_ts_ms: 1_262_304_000_000 }, null],
    ['one before 2010 is refused', { event_ts_ms: 1_262_303_999_999 }, 'event_ts_ms_out_of_range', 'event_ts_ms'],
    ['an integer beyond 2^53 is out of range', { event_ts_ms: 1e20 }, 'event_ts_ms_out_of_range', 'event_ts_ms'],
    ['a fraction is no integer', { event_ts_ms: 1.5 }, 'invalid_field', 'event_ts_ms'],
    ['a revenue of a billion passes, either way', { revenue: -1e9 }, null],
    ['a revenue of more is refused', { revenue: 1e9 + 0.5 }, 'invalid_field', 'revenue'],
    ['1e400 is no revenue', { revenue: Number.POSITIVE_INFINITY }, 'invalid_field', 'revenue'],
    ['currency in any case', { currency: 'eUr' }, null],
    ['a letter whose upper case is ASCII is no currency', { currency: 'Uſd' }, 'invalid_field', 'currency'],
    ['the code for tests is no currency', { currency: 'XTS' }, 'invalid_field', 'currency'],
    ['the code for no currency is none, in any case', { currency: 'xXx' }, 'invalid_field', 'currency'],
    ['other codes that begin with X are currencies', { currency: 'XAU' }, null],
    ['props of depth 8 pass', { props: nested(8) }, null],
    ['props of depth 9 are refused', { props: nested(9) }, 'invalid_field', 'props'],
    ['props of 16 KiB pass', { props: ofBytes(limits.object_json_bytes_max) }, null],
    [
      'props of 16 KiB and a byte are refused',
      { props: ofBytes(limits.object_json_bytes_max + 1) },
      'invalid_field',
      'props',
    ],
    ['props that are an array are refused', { props: [] }, 'invalid_field', 'props'],
    ['an unknown field is kept', { plan: { tier: 1 } }, null],
    ['an unknown field too deep is refused by its name', { plan: nested(9) }, 'invalid_field', 'plan'],
    ['unknown fields too large are refused by name', { a: 1, plan: 'x'.repeat(65_600) }, 'invalid_field', 'plan'],
    ['a megabyte name is cut before it is echoed', { ['k'.repeat(1e6)]: 1 }, 'invalid_field', 'k'.repeat(128)],
  ])('%s', (_promise, change, reason, field) => {
    const fault = findEventFault({ ...good, ...change }, 'bulk', now_ms)
    expect(fault?.reason ?? null).toBe(reason)
    expect(fault?.field).toBe(field)
  })

  test('required fields are asked for in the order install_uuid, event_ts_ms, event_name', () => {
    expect(findEventFault({ event_id: '\n' }, 's2s', now_ms)?.field).toBe('install_uuid')
    expect(findEventFault({ install_uuid: '\n', event_name: '' }, 's2s', now_ms)?.field).toBe('event_ts_ms')
    expect(findEventFault({ install_uuid: '\n', event_ts_ms: 'x' }, 's2s', now_ms)?.field).toBe('event_name')
  })

  test('an SDK event needs an id and may leave its time out', () => {
    const { event_ts_ms, ...timeless } = good
    expect(findEventFault(timeless, 'sdk', now_ms)).toBe(null)
    expect(findEventFault({ ...good, event_id: null }, 'sdk', now_ms)?.reason).toBe('bad_event_id')
    expect(findEventFault({ ...good, event_id: null }, 'bulk', now_ms)).toBe(null)
  })

  test('nesting of 100 000 levels neither throws nor passes', () => {
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
    expect(findEventFault({ ...good, props: { deep } }, 'sdk', now_ms)?.field).toBe('props')
    expect(findEventFault({ ...good, deep }, 'sdk', now_ms)?.field).toBe('deep')
    expect(findEventFault(deep, 'sdk', now_ms)?.reason).toBe('missing_required_fields')
  })
})
