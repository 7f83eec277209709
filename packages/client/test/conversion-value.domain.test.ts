import { limits } from '@tributary/contracts/limits'
import { CvSchema, type CvSchema as PublishedSchema, windowHours } from '@tributary/contracts/postback/cv-schema'
import { decodeValue } from '@tributary/domain/postback/cv-schema'
import { findSchemaFaults } from '@tributary/domain/postback/schema-faults'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { automaticUpdate, skanUpdate } from '../src/conversion-value.ts'

const hour_ms = 3_600_000
const installed_at_ms = Date.UTC(2026, 2, 1)
const at = (hours: number) => installed_at_ms + hours * hour_ms
const ios17 = { os: 'ios', os_version: '17.4.1' }
const ios15 = { os: 'iOS', os_version: '15.8' }

describe('UpdateConversionValue', () => {
  const call = { fineValue: 7, coarseValue: 'high', lockWindow: true } as const
  const legacy = { api: 'legacy', fine: 7, coarse: null, lock_window: false }

  it('writes fine, coarse and lock from iOS 16.1, the fine value alone from 14, and nothing elsewhere', () => {
    const all = { api: 'skan4', fine: 7, coarse: 'high', lock_window: true }
    for (const os_version of ['16.1', '16.10', '17.4', '26.0.1'])
      expect(skanUpdate(call, { os: 'ios', os_version })).toEqual(all)
    for (const os_version of ['16.0.3', '15.0', '14.0', '16'])
      expect(skanUpdate(call, { os: 'iOS', os_version })).toEqual(legacy)
    for (const os_version of ['13.7', '', 'x']) expect(skanUpdate(call, { os: 'ios', os_version })).toBeNull()
    for (const os of ['android', 'editor', 'macos']) expect(skanUpdate(call, { os, os_version: '17.4' })).toBeNull()
  })

  it('takes a fine value alone', () => {
    expect(skanUpdate({ fineValue: 0 }, ios17)).toEqual({ api: 'skan4', fine: 0, coarse: null, lock_window: false })
  })

  it('refuses impossible values, on every system', () => {
    const wrong = [
      { fineValue: 64 },
      { fineValue: -1 },
      { fineValue: 1.5 },
      { fineValue: '1' },
      { fineValue: Number.NaN },
    ]
    const others = [{ fineValue: 1, coarseValue: 'none' }, { fineValue: 1, lockWindow: 1 }, {}]
    for (const device of [ios17, { os: 'android', os_version: '15' }])
      for (const given of [...wrong, ...others])
        expect(() => skanUpdate(given as never, device)).toThrow(expect.objectContaining({ code: 'bad_options' }))
    expect(() => skanUpdate({ fineValue: limits.cv_fine_value_max }, ios17)).not.toThrow()
  })
})

const schema = CvSchema.parse({
  version: 1,
  postbacks: [
    {
      ...{ postback_sequence_index: 0, window_hours: 48 },
      fine: [
        { value: 0, name: 'opened' },
        { value: 1, name: 'tutorial', event_name: 'tutorial_done' },
        { value: 10, name: 'small', revenue_min_usd: 0.01, revenue_max_usd: 5 },
        { value: 20, name: 'large', revenue_min_usd: 5 },
      ],
      coarse: [
        { value: 'low', name: 'free' },
        { value: 'high', name: 'paying', revenue_min_usd: 0.01 },
      ],
    },
    {
      ...{ postback_sequence_index: 1, window_hours: 168, lock_window: true },
      coarse: [{ value: 'medium', name: 'came back', event_name: 'app_open' }],
    },
    {
      ...{ postback_sequence_index: 2, window_hours: 840 },
      fine: [{ value: 0, name: 'paid', revenue_min_usd: 1 }],
      coarse: [{ value: 'low', name: 'alive' }],
    },
  ],
})
type Events = Parameters<typeof automaticUpdate>[1]['events']
const paid = (hours: number, revenue_usd: number) => ({ event_name: 'purchase', event_ts_ms: at(hours), revenue_usd })
const did = (hours: number, event_name: string) => ({ event_name, event_ts_ms: at(hours) })
const update = (hours: number, events: Events = [], last?: ReturnType<typeof automaticUpdate>, device = ios17) =>
  automaticUpdate(schema, { installed_at_ms, events }, { device, now_ms: at(hours), last })

describe('An automatic update', () => {
  const none = { api: 'skan4', lock_window: false } as const
  it('is the highest value that holds, each window for its own events', () => {
    const events = [did(1, 'tutorial_done'), paid(2, 4.5), paid(47, 0.5), did(60, 'app_open'), paid(170, 1)]
    expect(update(0)).toEqual({ ...none, sequence_index: 0, fine: 0, coarse: 'low' })
    expect(update(1, events)).toEqual({ ...none, sequence_index: 0, fine: 1, coarse: 'low' })
    expect(update(2, events)).toEqual({ ...none, sequence_index: 0, fine: 10, coarse: 'high' })
    expect(update(47.9, events)).toEqual({ ...none, sequence_index: 0, fine: 20, coarse: 'high' })
    expect(update(48, events)).toBeNull()
    expect(update(167, events)).toEqual({ ...none, sequence_index: 1, fine: 0, coarse: 'medium', lock_window: true })
    expect(update(839, events)).toEqual({ ...none, sequence_index: 2, fine: 0, coarse: 'low' })
    for (const hours of [840, -1]) expect(update(hours, events)).toBeNull()
  })

  it('sends no fine 0 that would mean what did not happen', () => {
    expect(update(170)).toBeNull()
  })

  it('is nothing when nothing is new, or the window is locked', () => {
    const first = update(1)
    expect(update(2, [], first)).toBeNull()
    expect(update(2, [paid(2, 1)], first)).toMatchObject({ fine: 10 })
    const locked = update(60, [did(60, 'app_open')])
    expect(update(61, [did(60, 'app_open')], { ...locked!, coarse: 'low' })).toBeNull()
    const refunded = [paid(1, 6), paid(3, -6)]
    expect(update(4, refunded, update(2, refunded))).toMatchObject({ fine: 0, coarse: 'low' })
  })

  it('has one window and only grows before iOS 16.1', () => {
    const events = [paid(1, 6), paid(300, -6)]
    const first = update(1, events, null, ios15)
    expect(first).toEqual({ api: 'legacy', fine: 20, coarse: null, lock_window: false, sequence_index: 0 })
    expect(update(301, events, first, ios15)).toBeNull()
    expect(update(301, [...events, paid(300, 1)], { ...first!, fine: 1 }, ios15)).toMatchObject({ fine: 10 })
  })

  it('needs a schema and an iPhone', () => {
    const activity = { installed_at_ms, events: [] }
    expect(automaticUpdate(null, activity, { device: ios17, now_ms: at(1) })).toBeNull()
    expect(update(1, [], null, { os: 'android', os_version: '15' })).toBeNull()
  })
})

const money = fc.integer({ min: -3, max: 12 }).map((half) => half / 2)
const band = fc.record({
  has_revenue: fc.constantFrom(true, true, false),
  gap: fc.constantFrom(0, 0, 0.5),
  width: fc.constantFrom(0.5, 1, 3),
  event_name: fc.constantFrom(null, null, 'a', 'b'),
})
/** Each value at most once, bands that do not overlap, the highest with or without a max. */
const bandsOf = <Value>(values: readonly Value[]) =>
  fc
    .tuple(fc.shuffledSubarray([...values]), fc.array(band, { minLength: 4, maxLength: 4 }), fc.boolean())
    .map(([chosen, bands, is_open]) => {
      let from = 0
      return chosen.map((value, n) => {
        const { has_revenue, gap, width, event_name } = bands[n]!
        const bare = { value, name: String(value), event_name }
        if (!has_revenue) return bare
        from += gap + width
        const max = is_open && n === chosen.length - 1 ? null : from
        return { ...bare, revenue_min_usd: from - width, revenue_max_usd: max }
      })
    })
const anySchema = fc
  .tuple(...[0, 1, 2].map(() => fc.tuple(bandsOf([0, 1, 2, 63]), bandsOf(['low', 'medium', 'high'] as const))))
  .map((lists) => ({
    version: 1,
    postbacks: lists.map(([fine, coarse], n) => {
      const index = n as 0 | 1 | 2
      return { postback_sequence_index: index, window_hours: windowHours[index], lock_window: false, fine, coarse }
    }),
  })) as fc.Arbitrary<PublishedSchema>
const anyEvent = fc.record({
  event_name: fc.constantFrom('a', 'b', 'c'),
  event_ts_ms: fc.constantFrom(-1, 0, 1, 47, 48, 49, 167, 168, 200, 839, 840).map(at),
  revenue_usd: fc.option(money, { nil: null }),
})

it('tells nothing that the decoder of postbacks reads otherwise', () => {
  let sent = 0
  fc.assert(
    fc.property(
      anySchema,
      fc.array(anyEvent, { maxLength: 6 }),
      fc.integer({ min: 0, max: 845 }),
      (given, events, hours) => {
        const now_ms = at(hours)
        expect(findSchemaFaults(given)).toEqual([])
        const chosen = automaticUpdate(given, { installed_at_ms, events }, { device: ios17, now_ms })
        if (chosen === null) return
        sent += 1
        const { sequence_index, fine, coarse } = chosen
        const from_ms = at([0, 48, 168][sequence_index]!)
        expect(now_ms >= from_ms && now_ms < at(windowHours[sequence_index])).toBe(true)
        const inside = events.filter(({ event_ts_ms }) => event_ts_ms >= from_ms && event_ts_ms <= now_ms)
        const usd = inside.reduce((sum, { revenue_usd }) => sum + (revenue_usd ?? 0), 0)
        // Apple sends the fine value or the coarse one.
        for (const value of [
          { fine, coarse: null },
          { fine: null, coarse },
        ]) {
          const meaning = decodeValue(given, { sequence_index, ...value })
          if (meaning?.event_name != null)
            expect(inside.map(({ event_name }) => event_name)).toContain(meaning.event_name)
          if (meaning?.revenue_min_usd == null) continue
          expect(usd).toBeGreaterThanOrEqual(meaning.revenue_min_usd)
          const is_open = meaning.revenue_max_usd === meaning.revenue_min_usd
          if (!is_open) expect(usd).toBeLessThan(meaning.revenue_max_usd!)
        }
      },
    ),
    { numRuns: 2000 },
  )
  expect(sent).toBeGreaterThan(200)
})
