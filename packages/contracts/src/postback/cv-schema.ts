import { z } from 'zod'
import { limits } from '../limits.ts'

/** Coarse conversion values, from the smallest. */
export const coarseValues = ['low', 'medium', 'high'] as const
export type CoarseValue = (typeof coarseValues)[number]

/** Sequence indexes of the postbacks of one install. */
export const sequenceIndexes = [0, 1, 2] as const
export type SequenceIndex = (typeof sequenceIndexes)[number]

/** End of the conversion window of each sequence index, hours since install (Apple, "Receiving ad attributions and postbacks"). */
export const windowHours = { 0: 48, 1: 168, 2: 840 } as const satisfies Record<SequenceIndex, number>

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
const printable = /^[^\u0000-\u001f\u007f-\u009f]+$/
const text = (max: number) => z.string().max(max).regex(printable, 'It must hold text without control characters.')

/** Reports add up millionths of a USD. */
const isMillionths = (usd: number): boolean => Math.round(usd * 1e6) / 1e6 === usd
const usd = z
  .number()
  .min(0)
  .max(limits.revenue_abs_max)
  .refine(isMillionths, 'It must have at most 6 decimals.')
  .nullish()

const meaning = {
  name: text(limits.cv_name_chars_max).describe('What people call the value.'),
  revenue_min_usd: usd.describe('The least revenue that the value stands for.'),
  revenue_max_usd: usd.describe('The first revenue that is too much. Only the highest band of its list may lack it.'),
  event_name: text(limits.event_name_chars_max).nullish().describe('The event that the value stands for.'),
}

/** The meaning of a fine conversion value: revenue in USD from its min to below its max, an event, or both. */
export const FineBand = z.strictObject({
  value: z.number().int().min(0).max(limits.cv_fine_value_max).describe('Fine conversion value.'),
  ...meaning,
})
export type FineBand = z.infer<typeof FineBand>

/** The meaning of a coarse conversion value. */
export const CoarseBand = z.strictObject({
  value: z.enum(coarseValues, 'It must be low, medium or high.').describe('Coarse conversion value.'),
  ...meaning,
})
export type CoarseBand = z.infer<typeof CoarseBand>

/** The conversion values of one conversion window. */
export const CvSchemaPostback = z.strictObject({
  postback_sequence_index: z
    .literal(sequenceIndexes, 'It must be 0, 1 or 2.')
    .describe('0 is the first postback of an install.'),
  window_hours: z
    .literal(Object.values(windowHours), 'It must be 48, 168 or 840.')
    .describe('End of its window, hours since install: 48 for index 0, 168 for 1, 840 for 2.'),
  lock_window: z.boolean().default(false).describe('Whether the app ends the window with its first value.'),
  fine: z
    .array(FineBand)
    .max(limits.cv_fine_value_max + 1)
    .default([]),
  coarse: z.array(CoarseBand).max(coarseValues.length).default([]),
})

/**
 * The meaning of the conversion values of an app. `findSchemaFaults` checks what holds between its parts
 * (docs/rules.md#conversion-value-schema).
 */
export const CvSchema = z.strictObject({
  version: z.number().int().min(1).describe('Number of the version, from 1 without gaps.'),
  postbacks: z.array(CvSchemaPostback).min(1).max(sequenceIndexes.length),
})
export type CvSchema = z.infer<typeof CvSchema>

/** A schema before it is published. A version in it is ignored, so that a published one can be changed and published. */
export const CvSchemaDraft = CvSchema.extend({
  version: CvSchema.shape.version.nullish().describe('Ignored: the service numbers the versions.'),
})
export type CvSchemaDraft = z.infer<typeof CvSchemaDraft>

/** A published version. Versions never change and are kept for ever. */
export interface CvVersion {
  version: number
  published_at_ms: number
  schema: CvSchema
}
