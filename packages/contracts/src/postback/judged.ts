import { z } from 'zod'
import { limits } from '../limits.ts'
import { coarseValues, sequenceIndexes } from './cv-schema.ts'
import { postbackProtocols } from './received.ts'

/** `unverifiable`: this release knows no key, version or type to check it with; a later one may. */
export const postbackVerdicts = ['valid', 'invalid', 'unverifiable'] as const
export type PostbackVerdict = (typeof postbackVerdicts)[number]

/** Development keys sign tests of developers: such a postback is genuine and proves no install of a customer. */
export const postbackEnvironments = ['production', 'development'] as const
export type PostbackEnvironment = (typeof postbackEnvironments)[number]

/** Why a postback has its verdict. Some codes name a field behind a colon: `wrong_type:campaign-id`. */
export const judgedReasons = {
  valid: ['verified'],
  invalid: [
    ...(['too_large', 'bad_json', 'bad_jws', 'duplicate_field', 'missing_field', 'wrong_type'] as const),
    ...(['separator_in_value', 'signature_encoding', 'signature_mismatch'] as const),
    ...(['wrong_algorithm', 'critical_header'] as const),
  ],
  unverifiable: ['unknown_version', 'unknown_key', 'unknown_conversion_type', 'unsupported_curve'],
} as const satisfies Record<PostbackVerdict, readonly string[]>
export type JudgedReason = (typeof judgedReasons)[PostbackVerdict][number]

/** Largest `fidelity-type`: a column of 8 bits holds it. Apple sends 0 and 1. */
export const fidelity_type_max = 255

/** An App Store item id as decimal digits that fit 64 bits, without leading zeros; empty when absent or unreadable. */
const itemId = z.string().regex(/^(|0|[1-9]\d{0,19})$/)

/**
 * The content of a postback and whether its signature proves it. Only a `valid` one may claim an install; the fields of
 * others hold what the sender says. `fine`, `coarse` and `country` are never signed. No text is longer than
 * `postback_value_chars_max`; network and source of one that is not valid have `postback_unproven_chars_max` at most.
 */
export const JudgedPostback = z.object({
  protocol: z.enum(postbackProtocols),
  verdict: z.enum(postbackVerdicts),
  reason: z.string().describe('A code of `judgedReasons`, with `:field` where it is about one.'),
  environment: z.enum(postbackEnvironments).nullable().describe('Of the key that verified; null when none did.'),
  key: z.string().nullable().describe('Name of the key that verified; null when none did.'),
  version: z.string().describe('Of SKAN: `1.0` to `4.0`, or what the sender says. Empty for AAK.'),
  network: z.string().describe('Ad network id; empty when unreadable.'),
  postback_id: z.string().describe('Transaction id (SKAN) or postback identifier (AAK); empty when unreadable.'),
  sequence_index: z.literal(sequenceIndexes).describe('0 where the version has none.'),
  advertised_item_id: itemId.describe('The app that the ad was for.'),
  publisher_item_id: itemId.describe('The app that showed the ad.'),
  source: z.string().describe('Source identifier (SKAN 4.0, AAK), else campaign id; empty when unreadable.'),
  redownload: z.boolean().nullable().describe('Null where the version does not say.'),
  re_engagement: z.boolean().describe('AAK alone: neither an install nor a redownload.'),
  did_win: z.boolean().nullable().describe('Null where the version does not say: it won.'),
  fidelity_type: z
    .number()
    .int()
    .min(0)
    .max(fidelity_type_max)
    .nullable()
    .describe('0: view-through, 1: StoreKit-rendered ad.'),
  fine: z
    .number()
    .int()
    .min(0)
    .max(limits.cv_fine_value_max)
    .nullable()
    .describe('Conversion value; null when absent or impossible.'),
  coarse: z.enum(coarseValues).nullable().describe('Null when absent or impossible.'),
  country: z
    .string()
    .regex(/^[A-Z]{2}$/)
    .nullable()
    .describe('ISO 3166-1 alpha-2; null when absent or impossible.'),
})
export type JudgedPostback = z.infer<typeof JudgedPostback>
