import type { FilteredReason } from '@tributary/contracts/attribution/click'
import { playStoreUrl } from './play-referrer.ts'

/** A link with the store ids of its app (docs/rules.md#tracking-links). */
export interface LinkTarget {
  platform: 'ios' | 'android'
  /** Id in the Play store; there for Android. */
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

/** The facts about the visitor in the request. */
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
  /** null: the click gets an empty answer and no row. */
  location: string | null
  filtered_reason: FilteredReason | null
}

/** Step 5 of a click that nothing stopped: where the person goes, and whether the click may attribute. */
export function redirectOf(target: LinkTarget, visitor: Visitor, token: string): Redirect {
  const { agent, mobile_only } = visitor
  if (agent === 'desktop' && mobile_only) return { location: null, filtered_reason: 'desktop' }
  if (agent === target.platform) return { location: storeUrl(target, token), filtered_reason: null }
  return {
    location: plainTarget(target, agent),
    filtered_reason: agent === 'desktop' ? 'desktop' : 'platform_mismatch',
  }
}

/**
 * The target of a visitor whose click is stopped. A phone of the app's platform and a program go to the store page,
 * others to the fallback. If the link lacks one, they go to the other. No parameter attributes. Null for a link without
 * both.
 */
export function plainTarget(target: LinkTarget, agent: Visitor['agent']): string | null {
  const goesToStore = agent === target.platform || agent === 'bot'
  return goesToStore ? (plainStoreUrl(target) ?? fallbackUrl(target)) : (fallbackUrl(target) ?? plainStoreUrl(target))
}

/** The fallback in ASCII, as a header needs it; null for one that is no https URL. */
function fallbackUrl({ fallback_url }: LinkTarget): string | null {
  const url = fallback_url === null ? null : URL.parse(fallback_url)
  return url?.protocol === 'https:' ? url.href : null
}

/** The page of the app in its store, without anything that attributes. Null without the id that the store needs. */
export function plainStoreUrl({ platform, bundle_id, store_id }: LinkTarget): string | null {
  if (platform === 'android') return bundle_id ? playStoreUrl(bundle_id) : null
  return store_id ? `https://apps.apple.com/app/id${encodeURIComponent(store_id)}` : null
}

function storeUrl(target: LinkTarget, token: string): string | null {
  const { platform, bundle_id, partner, campaign } = target
  if (platform === 'ios') return appStoreUrl(target)
  return bundle_id ? playStoreUrl(bundle_id, { partner, campaign, token }) : null
}

/** Characters of `ct` that the App Store keeps. */
const campaign_chars_max = 30

/** Only a campaign name passes the App Store, and it reaches only Apple's own reports. */
function appStoreUrl(target: LinkTarget): string | null {
  const { provider_token: pt, partner, campaign } = target
  const page = plainStoreUrl(target)
  if (pt === null || page === null) return page
  const name = campaign === null ? partner : `${partner}.${campaign}`
  const ct = [...name].slice(0, campaign_chars_max).join('')
  return `${page}?${new URLSearchParams({ pt, ct, mt: '8' })}`
}
