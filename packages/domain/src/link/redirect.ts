import type { FilteredReason } from '@tributary/contracts/attribution/click'
import { playStoreUrl } from '../attribute/play-referrer.ts'

/** A link with what its app says of the store (docs/rules.md#tracking-links). */
export interface LinkTarget {
  platform: 'ios' | 'android'
  /** Of the Play store; there for Android. */
  bundle_id: string | null
  /** Number of the App Store; there for iOS. */
  store_id: string | null
  /** Provider token of App Store campaigns. */
  provider_token: string | null
  partner: string
  campaign: string | null
  fallback_url: string | null
  /** ISO 3166-1 alpha-2; null allows all. */
  countries: readonly string[] | null
}

/** What the request tells of who clicked. */
export interface Visitor {
  agent: 'bot' | 'android' | 'ios' | 'desktop'
  datacenter: boolean
  /** ISO 3166-1 alpha-2; null where the address has none. */
  country: string | null
  /** `mobile_only=1`. */
  mobile_only: boolean
}

/** Step 1 of a click: why the edge filter keeps it from attributing; null lets it through. */
export function edgeFilter({ countries }: LinkTarget, visitor: Visitor): FilteredReason | null {
  if (visitor.agent === 'bot') return 'bot'
  if (visitor.datacenter) return 'datacenter'
  if (countries !== null && !countries.includes(visitor.country ?? '')) return 'country'
  return null
}

export interface Redirect {
  /** null: dropped without an answer to look at, and without a row. */
  location: string | null
  filtered_reason: FilteredReason | null
}

/** Step 5 of a click that the filter let through: where the person goes, and whether the click may attribute. */
export function redirectOf(target: LinkTarget, visitor: Visitor, token: string): Redirect {
  const { agent, mobile_only } = visitor
  if (agent === 'desktop' && mobile_only) return { location: null, filtered_reason: 'desktop' }
  if (agent === target.platform) return { location: storeUrl(target, token), filtered_reason: null }
  const location = fallbackUrl(target) ?? plainStoreUrl(target)
  return { location, filtered_reason: agent === 'desktop' ? 'desktop' : 'platform_mismatch' }
}

/** The fallback in ASCII, as a header needs it; null for one that is no https URL. */
function fallbackUrl({ fallback_url }: LinkTarget): string | null {
  const url = fallback_url === null ? null : URL.parse(fallback_url)
  return url?.protocol === 'https:' ? url.href : null
}

/** The page of the app in its store, without anything that attributes. */
export const plainStoreUrl = ({ platform, bundle_id, store_id }: LinkTarget): string =>
  platform === 'android'
    ? playStoreUrl(bundle_id ?? '')
    : `https://apps.apple.com/app/id${encodeURIComponent(store_id ?? '')}`

function storeUrl(target: LinkTarget, token: string): string {
  const { platform, bundle_id, partner, campaign } = target
  if (platform === 'android') return playStoreUrl(bundle_id ?? '', { partner, campaign, token })
  return appStoreUrl(target)
}

/** Characters of `ct` that the App Store keeps. */
const campaign_chars_max = 30

/** Nothing but a campaign name passes through the App Store, and that only to Apple's own reports. */
function appStoreUrl(target: LinkTarget): string {
  const { provider_token: pt, partner, campaign } = target
  if (pt === null) return plainStoreUrl(target)
  const name = campaign === null ? partner : `${partner}.${campaign}`
  const ct = [...name].slice(0, campaign_chars_max).join('')
  return `${plainStoreUrl(target)}?${new URLSearchParams({ pt, ct, mt: '8' })}`
}
