import { isDeepStrictEqual } from 'node:util'
import type { CvSchemaChange } from '@tributary/contracts/admin/cv-schemas'
import {
  type CoarseValue,
  type CvSchema,
  coarseValues,
  type FineBand,
  sequenceIndexes,
} from '@tributary/contracts/postback/cv-schema'

type Postback = CvSchema['postbacks'][number]

/** The differences of two schemas, in the order of indexes and values, whatever their order in the schemas. */
export function findSchemaChanges(before: readonly Postback[], after: readonly Postback[]): CvSchemaChange[] {
  return sequenceIndexes.flatMap((index) => {
    const isOfIndex = ({ postback_sequence_index }: Postback) => postback_sequence_index === index
    const [old, given] = [before.find(isOfIndex), after.find(isOfIndex)]
    const change = (part: CvSchemaChange['part'], value: CvSchemaChange['value'], was: Part, is: Part) =>
      isDeepStrictEqual(was, is) ? [] : [{ postback_sequence_index: index, part, value, before: was, after: is }]
    return [
      ...change('postback', null, partOf(old), partOf(given)),
      ...(['fine', 'coarse'] as const).flatMap((list) =>
        valuesOf(old, given, list).flatMap((value) =>
          change(list, value, bandOf(old, list, value), bandOf(given, list, value)),
        ),
      ),
    ]
  })
}

type Part = CvSchemaChange['before']

const partOf = (postback: Postback | undefined): Part =>
  postback === undefined ? null : { window_hours: postback.window_hours, lock_window: postback.lock_window }

/** A band without its empty fields. */
function bandOf(postback: Postback | undefined, list: 'fine' | 'coarse', value: number | string): Part {
  const band = postback?.[list].find((one) => one.value === value)
  if (band === undefined) return null
  return Object.fromEntries(Object.entries(band).filter(([, field]) => field != null)) as Part
}

function valuesOf(old: Postback | undefined, given: Postback | undefined, list: 'fine' | 'coarse') {
  const values = [old, given].flatMap((one) => one?.[list].map(({ value }) => value) ?? [])
  const rank = (value: FineBand['value'] | CoarseValue) =>
    typeof value === 'number' ? value : coarseValues.indexOf(value)
  return [...new Set(values)].toSorted((a, b) => rank(a) - rank(b))
}
