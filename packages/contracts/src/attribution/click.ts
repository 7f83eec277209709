import { z } from 'zod'
import { idShape, platforms } from '../event/envelope.ts'

/** Why a click never attributes an install (docs/rules.md#tracking-links). */
export const filteredReasons = [
  'bot',
  'datacenter',
  'country',
  'honeypot',
  'honeypot_embed',
  'desktop',
  'platform_mismatch',
] as const
export type FilteredReason = (typeof filteredReasons)[number]

/** Why a click is not written at all (docs/rules.md#stopped-clicks). The person is led on. */
export const stopReasons = ['prefetch', 'disabled', 'suspended', 'no_store_page', 'blocked', 'rate_limited'] as const
export type StopReason = (typeof stopReasons)[number]

const id = z.string().regex(idShape)
const optional = z.string().min(1).nullable()
/** ClickHouse would store a larger number as another one. */
const uint16 = z.number().int().min(0).max(65_535).nullable()

/** A UUIDv7: its first 48 bits are the time of the click. */
export const clickIdShape = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** A click on a tracking link, or a hit of a honeypot link. Absent values are null. */
export const Click = z.object({
  v: z.literal(1).describe('Version of this shape.'),
  click_id: z.string().regex(clickIdShape).describe('Ours, a UUIDv7.'),
  company_id: id,
  app_id: id,
  link_id: id,
  partner: z.string().min(1),
  campaign: optional,
  ad_group: optional,
  creative: optional,
  ext_click_id: optional.describe("The partner's `click_id`."),
  sub1: optional,
  sub2: optional,
  sub3: optional,
  sub4: optional,
  sub5: optional,
  deep_link: optional,
  lookback_hours: uint16.describe('Of the link; the window of the app where null.'),
  clicked_at_ms: z.number().int().describe('When the gateway received it, Unix epoch ms.'),
  filtered_reason: z.enum(filteredReasons).nullable().describe('Present: the click attributes nothing.'),
  weight: z.number().int().min(2).optional().describe('Clicks that a filtered one stands for; one without it.'),
  ip: z.string(),
  country: z.string().length(2).nullable().describe('ISO 3166-1 alpha-2.'),
  user_agent: z.string(),
  os: z.enum(platforms).nullable(),
  os_major: uint16.describe('Null when the agent does not say.'),
  model: optional,
  device_hashes: z
    .array(z.string())
    .describe("HMAC of the SHA-256 of each device id in the query, keyed with the company's salt."),
})
export type Click = z.infer<typeof Click>

/** A record of `clicks.recorded.v1`. */
export const ClickRecorded = Click.extend({
  archived: z.literal(true).optional().describe('A replay read the click from an archive, which goes on to hold it.'),
})
export type ClickRecorded = z.infer<typeof ClickRecorded>
