import { z } from 'zod'
import { countries_max, isCountry } from '../countries.ts'
import { limits } from '../limits.ts'
import { text } from './admin-fields.ts'

/** The partner of installs that no link brought. */
const organic = 'organic'

/** The name of a partner, as links and costs have it. */
export const PartnerName = z
  .string()
  .max(limits.partner_chars_max)
  .regex(/^[A-Za-z0-9_-]+$/, 'A partner name holds a-z, 0-9, _ and - only.')
  .toLowerCase()
  .refine((name) => name !== organic, `The partner name ${organic} is reserved.`)

const label = text(limits.campaign_chars_max).min(1).optional()

/** Schemes on which a browser or the system acts by itself: none is an app's own. */
const foreignSchemes = new Set(
  `about blob chrome cid content data facetime feed file filesystem ftp geo http intent jar javascript livescript mailto
  market mhtml mms mocha moz-extension resource sms smsto tel vbscript view-source ws wss`.split(/\s+/),
)

const isHttps = (url: string): boolean => /^https:\/\/[^/?#\\]/i.test(url) && URL.canParse(url)

function isAppUrl(url: string): boolean {
  const scheme = /^([a-z][a-z0-9+.-]*):./i.exec(url)?.[1]?.toLowerCase()
  return scheme !== undefined && scheme !== 'https' && !foreignSchemes.has(scheme) && URL.canParse(url)
}

/** Whatever goes into a header must be visible ASCII; a URL that is so already stays as it was given. */
const inAscii = (url: string): string => (/^[!-~]+$/.test(url) || !URL.canParse(url) ? url : new URL(url).href)

/** A browser would send them to whoever serves the page, and everybody who follows the link reads them. */
function holdsPassword(url: string): boolean {
  const { username = '', password = '' } = URL.parse(url) ?? {}
  return username !== '' || password !== ''
}

const url = (isRight: (given: string) => boolean, rule: string) =>
  text(limits.link_url_chars_max)
    .refine(isRight, rule)
    .refine((given) => !holdsPassword(given), 'It must hold no user and no password.')
    .overwrite(inAscii)
    .optional()

const inCapitals = (codes: string[]): string[] => [...new Set(codes.map((code) => code.toUpperCase()))]

/** Fields that make a tracking link (docs/rules.md#link-records). */
export const CreateLink = z.strictObject({
  app_id: z.string(),
  partner: PartnerName.describe('1 to 64 of `a-z`, `0-9`, `_`, `-`; capitals are lowered; `organic` is reserved.'),
  campaign: label,
  ad_group: label,
  creative: label,
  fallback_url: url(isHttps, 'It must be an absolute https URL.').describe(
    'Where visitors without the right phone go; absolute https URL. Default: the store page.',
  ),
  deep_link: url(
    (given) => isHttps(given) || isAppUrl(given),
    "It must be an absolute https URL, or a URL with a scheme of the app's own.",
  ).describe("Absolute https URL, or one with a scheme of the app's own."),
  countries: z
    .array(z.string())
    .min(1)
    .max(countries_max)
    .overwrite(inCapitals)
    .refine((given) => given.every(isCountry), 'Countries are ISO 3166-1 alpha-2 codes such as DE.')
    .optional()
    .describe('Only clicks from these count, ISO 3166-1 alpha-2; absent: all.'),
  lookback_hours: z
    .number()
    .int()
    .min(1)
    .max(limits.click_window_hours_max)
    .optional()
    .describe('Click window of this link, in place of that of its app.'),
  honeypot: z.boolean().default(false).describe('The link catches bots and redirects nobody.'),
})
export type CreateLink = z.infer<typeof CreateLink>
