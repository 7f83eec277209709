import { z } from 'zod'
import { PartnerName } from '../admin/link-fields.ts'
import { limits } from '../limits.ts'

/** Why a cost was rejected (`reason` of its result). */
export const costReasons = [
  'missing_required_fields',
  'bad_day',
  'bad_cost',
  'unknown_currency',
  'bad_country',
  'bad_field',
] as const
export type CostReason = (typeof costReasons)[number]

const label = z.string().max(limits.campaign_chars_max).nullish()
const counted = z.number().int().min(0).max(limits.cost_counts_max).nullish()

/** A cost as it is sent. `null` and an empty text mean that a field is absent. */
const SentCost = z.strictObject({
  day: z.iso.date().describe(`UTC. From ${limits.cost_day_min} to tomorrow.`),
  partner: PartnerName.describe('1 to 64 of `a-z`, `0-9`, `_`, `-`; capitals are lowered; `organic` is reserved.'),
  campaign: label,
  ad_group: label,
  country: z.string().nullish().describe('ISO 3166-1 alpha-2, in any case.'),
  cost: z
    .number()
    .min(0)
    .max(limits.cost_max)
    .describe('Money of the day, exact to 6 places. 0 takes the cost out of reports.'),
  currency: z.string().describe('ISO 4217, in any case.'),
  clicks: counted.describe('As the partner counts them.'),
  impressions: counted.describe('As the partner counts them.'),
})

/** Names of the fields of a cost. */
export const costFields = Object.keys(SentCost.shape) as (keyof typeof SentCost.shape)[]

/** Body of `PUT /api/v1/costs`. */
export const CostUpload = z.strictObject({
  costs: z.array(SentCost).min(1).max(limits.costs_max),
  as_of_ms: z
    .number()
    .int()
    .min(0)
    .nullish()
    .describe(
      'Time of the figures, Unix epoch ms, such as the time of the file; at most 24 hours ahead. 0 when absent.',
    ),
})

/** One line of `results`. */
const CostResult = z.object({
  status: z.enum(['accepted', 'rejected']),
  reason: z.enum(costReasons).optional().describe('Why a cost was rejected. Sent again, it would be rejected again.'),
  field: z.string().optional().describe('The field that was wrong.'),
  message: z.string().optional().describe('What was wrong, for people. It may change.'),
})

/** 200 of `PUT /api/v1/costs`. */
export const CostReply = z.object({
  accepted: z.number().int(),
  rejected: z.number().int(),
  results: z.array(CostResult).describe('One for each cost, in the order of the request.'),
})
export type CostReply = z.infer<typeof CostReply>

/** A cost as it is stored: absent texts are empty, and names are as links have them. */
export interface Cost {
  /** UTC date, `YYYY-MM-DD`. */
  day: string
  partner: string
  campaign: string
  ad_group: string
  country: string
  /** Micros of `currency`, a whole number below 2^53. */
  cost_micros: number
  currency: string
  clicks: number | null
  impressions: number | null
}

type CostName = Pick<Cost, 'day' | 'partner' | 'campaign' | 'ad_group' | 'country'>

/** The fields that name a cost: the newest upload of them counts. */
export const costKey = ({ day, partner, campaign, ad_group, country }: CostName): string =>
  JSON.stringify([day, partner, campaign, ad_group, country])
