import { z } from 'zod'

/** Methods, the strongest first (docs/rules.md#order-of-methods). */
export const methods = ['install_referrer', 'click_id', 'device_id', 'probabilistic'] as const
export type Method = (typeof methods)[number]

/** Partner and attribution type of an install that no click brought. No partner can have this name. */
export const organic = 'organic'
/** Attribution type of an install whose event states where it came from (docs/rules.md#stated-attribution). */
export const imported = 'imported'
export const attributionTypes = [...methods, organic, imported] as const

export const lostReasons = [
  'older_click',
  'weaker_method',
  'outside_window',
  'after_install',
  'click_already_used',
  'ambiguous',
  'filtered',
  'bad_signature',
  'unsigned',
  'unknown_click',
] as const
export type LostReason = (typeof lostReasons)[number]

export const fraudFlags = [
  'click_after_install',
  'fast_install',
  'click_flooding',
  'datacenter_ip',
  'blocked_ip',
  'forged_click',
  'install_burst',
  'crowded_device',
] as const
export type FraudFlag = (typeof fraudFlags)[number]

const text = z.string().nullable()

/** Where an install came from. */
export const Verdict = z.object({
  partner: z.string().describe('`organic` without a click.'),
  attribution_type: z.enum(attributionTypes),
  campaign: text,
  ad_group: text.optional().describe('Of an imported install only; others have that of their link.'),
  creative: text.optional().describe('As `ad_group`.'),
  source: z.string().optional().describe('Who attributed an imported install; absent for others.'),
  link_id: text,
  click_id: text,
  ext_click_id: text.describe("The partner's `click_id`."),
  sub1: text,
  sub2: text,
  sub3: text,
  sub4: text,
  sub5: text,
  reinstall: z.boolean(),
  fraud_flags: z.array(z.enum(fraudFlags)),
})
export type Verdict = z.infer<typeof Verdict>

/** A click that might have brought the install. */
export const Candidate = z.object({
  click_id: z.string(),
  partner: text.describe('Null for a click that is not there.'),
  method: z.enum(methods),
  clicked_at_ms: z.number().int().describe('Unix epoch ms; of an unknown click the time inside its id.'),
  outcome: z.enum(['won', 'lost']),
  reason: z.enum(lostReasons).nullable().describe('Why it lost.'),
})
export type Candidate = z.infer<typeof Candidate>

/** The windows that the verdict used: those that were set when the install was received. */
export const Windows = z.object({
  click_hours: z.number().int(),
  probabilistic_hours: z.number().int().nullable().describe('Null when the app does not match by address.'),
  reinstall_days: z.number().int(),
})
export type Windows = z.infer<typeof Windows>
