import { CvSchemaDraft } from '@tributary/contracts/postback/cv-schema'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { ageMax, decodeValue, type PostbackTime, versionAt } from '../../src/postback/cv-schema.ts'
import { findSchemaFaults } from '../../src/postback/schema-faults.ts'

const hour_ms = 3_600_000
const window_hours = { 0: 48, 1: 168, 2: 840 } as const
type Index = keyof typeof window_hours
const postback = (index: Index, change: object = {}) => ({
  ...{ postback_sequence_index: index, window_hours: window_hours[index], lock_window: false },
  ...change,
})
const band = (value: number | string, min?: number, max?: number) => ({
  ...{ value, name: `v${value}` },
  ...(min === undefined ? {} : { revenue_min_usd: min }),
  ...(max === undefined ? {} : { revenue_max_usd: max }),
})
const faultsOf = (...postbacks: object[]) => findSchemaFaults(CvSchemaDraft.parse({ postbacks }))
const fine = (...bands: object[]) => faultsOf(postback(0, { fine: bands }))

describe('a schema', () => {
  it('is right with touching bands, gaps, values without revenue, and an open highest band of each list', () => {
    const fine = [band(63, 10), band(0), band(7, 5, 10), band(3, 0.99, 4.5)]
    const coarse = [band('low', 0, 1), band('high', 1)]
    expect(faultsOf(postback(2, { coarse }), postback(0, { fine, coarse }))).toEqual([])
  })

  it.each<[string, object[], object[]]>([
    [
      'an index that is there twice',
      [postback(1), postback(0), postback(1)],
      [{ path: 'postbacks.2.postback_sequence_index', message: 'Sequence index 1 is there twice.' }],
    ],
    [
      'the window of another index',
      [postback(0, { window_hours: 168 })],
      [
        {
          path: 'postbacks.0.window_hours',
          message: 'The window of sequence index 0 ends 48 hours after the install.',
        },
      ],
    ],
    [
      'a value that is there twice',
      [postback(0), postback(1, { fine: [band(4), band(5), band(4)] })],
      [{ path: 'postbacks.1.fine.2.value', message: 'Fine value 4 of sequence index 1 is there twice.' }],
    ],
    [
      'a coarse value that is there twice',
      [postback(2, { coarse: [band('low'), band('low')] })],
      [{ path: 'postbacks.0.coarse.1.value', message: 'Coarse value low of sequence index 2 is there twice.' }],
    ],
    [
      'bands that overlap',
      [postback(0, { fine: [band(2, 5, 10), band(1, 1, 5.01)] })],
      [
        {
          path: 'postbacks.0.fine.0.revenue_min_usd',
          message: 'Fine value 2 of sequence index 0 overlaps Fine value 1 of sequence index 0.',
        },
      ],
    ],
    [
      'a band inside another one',
      [postback(0, { fine: [band(1, 0, 100), band(2, 5, 6), band(3, 200)] })],
      [expect.objectContaining({ path: 'postbacks.0.fine.1.revenue_min_usd' })],
    ],
    [
      'two bands from the same revenue on',
      [postback(0, { fine: [band(1, 5), band(2, 5)] })],
      [expect.objectContaining({ path: 'postbacks.0.fine.0.revenue_max_usd' })],
    ],
    [
      'a lower band without max',
      [postback(0, { coarse: [band('low', 1), band('high', 2, 3)] })],
      [
        {
          path: 'postbacks.0.coarse.0.revenue_max_usd',
          message: 'Coarse value low of sequence index 0 needs a max: only the highest band may lack it.',
        },
      ],
    ],
    [
      'a max without min',
      [postback(0, { fine: [band(1, undefined, 3)] })],
      [
        {
          path: 'postbacks.0.fine.0.revenue_min_usd',
          message: 'Fine value 1 of sequence index 0 has a max and no min.',
        },
      ],
    ],
    [
      'an empty band',
      [postback(0, { fine: [band(1, 3, 3)] })],
      [
        {
          path: 'postbacks.0.fine.0.revenue_max_usd',
          message: 'The max of Fine value 1 of sequence index 0 must be above its min.',
        },
      ],
    ],
  ])('names the index and the value of %s', (_what, postbacks, faults) => {
    expect(faultsOf(...postbacks)).toEqual(faults)
  })

  it('is right exactly when no two bands of a list hold the same revenue', () => {
    const bands = fc.uniqueArray(fc.tuple(fc.nat(63), fc.nat(9), fc.option(fc.integer({ min: 1, max: 9 }))), {
      selector: ([value]) => value,
    })
    fc.assert(
      fc.property(bands, (given) => {
        const ends = given.map(([, min, length]) => [min, length === null ? Number.POSITIVE_INFINITY : min + length])
        const meet = ends.some(([a = 0, b = 0], n) => ends.some(([c = 0, d = 0], m) => n < m && a < d && c < b))
        const faults = fine(
          ...given.map(([value, min, length]) => band(value, min, length === null ? undefined : min + length)),
        )
        expect(faults.length > 0).toBe(meet)
      }),
    )
  })

  it.each<[object, string]>([
    [{ postbacks: [] }, 'postbacks'],
    [{ postbacks: [postback(0)], name: 'x' }, ''],
    [{ postbacks: [postback(0, { postback_sequence_index: 3 })] }, 'postbacks.0.postback_sequence_index'],
    [{ postbacks: [postback(0, { window_hours: 24 })] }, 'postbacks.0.window_hours'],
    [{ postbacks: [postback(0, { fine: [band(64)] })] }, 'postbacks.0.fine.0.value'],
    [{ postbacks: [postback(0, { fine: [band(1.5)] })] }, 'postbacks.0.fine.0.value'],
    [{ postbacks: [postback(0, { coarse: [band('none')] })] }, 'postbacks.0.coarse.0.value'],
    [{ postbacks: [postback(0, { fine: [band(1, -1)] })] }, 'postbacks.0.fine.0.revenue_min_usd'],
    [{ postbacks: [postback(0, { fine: [band(1, 0, 0.0000001)] })] }, 'postbacks.0.fine.0.revenue_max_usd'],
    [{ postbacks: [postback(0, { fine: [{ value: 1 }] })] }, 'postbacks.0.fine.0.name'],
    [{ postbacks: [postback(0, { fine: [{ value: 1, name: '\u0000' }] })] }, 'postbacks.0.fine.0.name'],
  ])('is refused where its shape is wrong: %j', (schema, path) => {
    expect(CvSchemaDraft.safeParse(schema).error?.issues[0]?.path.join('.')).toBe(path)
  })
})

describe('a conversion value', () => {
  const schema = CvSchemaDraft.parse({
    postbacks: [
      postback(0, {
        fine: [band(0), { ...band(1, 1, 5), event_name: 'purchase' }, band(2, 5)],
        coarse: [band('low', 0, 2)],
      }),
      postback(1, { coarse: [band('high', 3)] }),
    ],
  })
  it.each<[string, Parameters<typeof decodeValue>[1], object | null]>([
    [
      'a fine value with its event',
      { sequence_index: 0, fine: 1, coarse: null },
      { name: 'v1', event_name: 'purchase', revenue_min_usd: 1, revenue_max_usd: 5 },
    ],
    [
      'the open highest band as its min twice',
      { sequence_index: 0, fine: 2, coarse: null },
      { name: 'v2', event_name: null, revenue_min_usd: 5, revenue_max_usd: 5 },
    ],
    [
      'fine 0, which is a value and no null',
      { sequence_index: 0, fine: 0, coarse: null },
      { name: 'v0', event_name: null, revenue_min_usd: null, revenue_max_usd: null },
    ],
    [
      'a coarse value of its own index',
      { sequence_index: 1, fine: null, coarse: 'high' },
      { name: 'vhigh', event_name: null, revenue_min_usd: 3, revenue_max_usd: 3 },
    ],
    ['nothing for a coarse value of another index', { sequence_index: 1, fine: null, coarse: 'low' }, null],
    ['nothing for a fine value that the schema lacks', { sequence_index: 0, fine: 9, coarse: 'low' }, null],
    ['nothing for an index that the schema lacks', { sequence_index: 2, fine: null, coarse: 'low' }, null],
    ['nothing for null', { sequence_index: 0, fine: null, coarse: null }, null],
  ])('decodes %s', (_what, value, decoded) => {
    expect(decodeValue(schema, value)).toEqual(decoded)
  })
})

describe('the version that decodes', () => {
  const received_at_ms = Date.UTC(2026, 5, 1)
  const ages: [PostbackTime['protocol'], string, Index, hours: number][] = [
    ['skan', '4.0', 0, 48 + 48],
    ['skan', '4.0', 1, 168 + 144],
    ['skan', '4.0', 2, 840 + 144],
    ['aak', '1.0', 0, 48 + 48],
    ['aak', '', 2, 840 + 144],
    ['skan', '3.0', 0, 64 * 24 + 24],
    ['skan', '2.1', 0, 64 * 24 + 24],
    ['skan', '1.0', 0, 64 * 24 + 24],
    ['skan', '10.0', 0, 48 + 48],
  ]
  test.each(ages)('%s %s of index %i reaches back %i hours', (protocol, version, sequence_index, hours) => {
    expect(ageMax({ protocol, version, sequence_index })).toBe(hours * hour_ms)
    const at = { protocol, version, sequence_index, received_at_ms }
    const earliest_ms = received_at_ms - hours * hour_ms
    const published = (...times: number[]) =>
      versionAt(
        times.map((published_at_ms, n) => ({ version: n + 1, published_at_ms })),
        at,
      )
    expect(published()).toEqual({ version: null, ambiguous: false })
    expect(published(earliest_ms)).toEqual({ version: 1, ambiguous: false })
    expect(published(earliest_ms + 1)).toEqual({ version: null, ambiguous: true })
    expect(published(earliest_ms - 1, earliest_ms, received_at_ms)).toEqual({ version: 2, ambiguous: true })
    expect(published(earliest_ms, received_at_ms + 1)).toEqual({ version: 1, ambiguous: false })
  })
})
