import { z } from 'zod'
import { PartnerName } from '../admin/link-fields.ts'
import { isCountry } from '../countries.ts'
import { limits } from '../limits.ts'
import { organic } from './verdict.ts'

const text = (chars_max: number) =>
  z
    .string()
    .max(chars_max)
    .overwrite((given) => given.toWellFormed())
    .nullish()
const label = text(limits.campaign_chars_max)
const sub = text(limits.click_value_chars_max)

/**
 * Where an install came from, as a backend states it: history from elsewhere (docs/rules.md#stated-attribution). Lengths are those of
 * links and clicks.
 */
export const StatedAttribution = z
  .strictObject({
    partner: z.union([z.literal(organic), PartnerName]).describe('As links have it; `organic` is allowed.'),
    campaign: label,
    ad_group: label,
    creative: label,
    country: z
      .string()
      .toUpperCase()
      .refine((code) => code === '' || isCountry(code))
      .nullish()
      .describe('ISO 3166-1 alpha-2, in any case.'),
    ...{ sub1: sub, sub2: sub, sub3: sub, sub4: sub, sub5: sub },
    attributed_at_ms: z.number().int().min(0).nullish().describe('When it was attributed, Unix epoch ms.'),
    source: z
      .string()
      .regex(/^[A-Za-z0-9_.-]+$/)
      .max(limits.partner_chars_max)
      .describe('Who attributed it: `appsflyer`.'),
  })
  .describe('Of an `app_install`, from a key with the scope `attribution:write`.')
export type StatedAttribution = z.infer<typeof StatedAttribution>
