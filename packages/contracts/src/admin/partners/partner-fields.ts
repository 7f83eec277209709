import { z } from 'zod'
import { limits } from '../../limits.ts'
import { flaggedChoices, install_postback, postbackMethods } from '../../partner/postback.ts'
import { text } from '../admin-fields.ts'
import { PartnerName } from '../link-fields.ts'

const eventName = text(limits.event_name_chars_max).min(1)

/** The parts of a postback. */
const postback = {
  app_id: z.string(),
  partner: PartnerName.describe('The partner of the links, as in `link create`.'),
  postback_url: z
    .string()
    .max(limits.partner_url_chars_max)
    .describe('https URL with macros such as `{ext_click_id}` in path and query (docs/postbacks.md#macros).'),
  method: z.enum(postbackMethods).default('GET').describe('`POST` sends the fields as JSON too.'),
}

/** Fields that set a partner of an app (docs/postbacks.md#set-a-partner). They replace what was set before. */
export const SetPartner = z.strictObject({
  ...postback,
  events: z
    .array(eventName)
    .min(1)
    .max(limits.partner_events_max)
    .overwrite((given) => [...new Set(given)])
    .default([install_postback])
    .describe('`install` for new attributed installs, and names of events.'),
  flagged: z.enum(flaggedChoices).default('skip').describe('Whether installs with a fraud flag are sent.'),
  hmac_secret: text(limits.partner_secret_chars_max)
    .min(1)
    .nullable()
    .optional()
    .describe('Signs postbacks; never shown again. Absent: it stays as it is; null: it ends.'),
})
export type SetPartner = z.infer<typeof SetPartner>

/** Fields of a preview. */
export const PreviewPartner = z.strictObject(postback)
export type PreviewPartner = z.infer<typeof PreviewPartner>

/** Names a partner of an app. */
export const PartnerOfApp = z.strictObject({ app_id: z.string(), partner: PartnerName })
export type PartnerOfApp = z.infer<typeof PartnerOfApp>
