/** A campaign of the invented market of the demo. */
export interface Campaign {
  partner: string
  campaign: string
  ad_groups: readonly string[]
  /** Clicks a day when it is young. */
  clicks: number
  /** Share of clicks that become installs. */
  conversion: number
  /** Beside 1, how faithful its installs are, and how much they buy. */
  quality: number
  /** Cost of an install. */
  cpi: number
  currency: string
  countries: readonly string[]
  /** First and last day of the history, as shares of it. */
  runs: readonly [number, number]
  is_fraud?: true
}

const west = ['US', 'GB', 'DE', 'FR', 'CA']
const all = [...west, 'BR', 'JP', 'IN', 'ES', 'IT', 'MX', 'PL']

export const campaigns: readonly Campaign[] = [
  campaign('northlight', 'us_lookalike', ['broad', 'lal_3', 'lal_10'], 95, 0.1, 1.35, 3.1, ['US', 'CA']),
  campaign('northlight', 'eu_core', ['de', 'fr', 'gb'], 70, 0.09, 1.2, 2.4, ['DE', 'FR', 'GB', 'ES', 'IT'], 'EUR'),
  campaign('northlight', 'autumn_event', ['video', 'playable'], 120, 0.11, 1.05, 2.2, all, 'USD', [0.55, 1]),
  campaign('brightwave', 'tier1_video', ['rewarded', 'interstitial'], 110, 0.075, 0.9, 1.6, west),
  campaign('brightwave', 'latam', ['br', 'mx'], 90, 0.1, 0.6, 0.55, ['BR', 'MX']),
  campaign('pinecone', 'search_brand', ['exact'], 40, 0.22, 1.6, 1.1, all),
  campaign('pinecone', 'search_generic', ['puzzle', 'merge', 'idle'], 60, 0.12, 1.1, 1.9, west, 'GBP'),
  campaign('playnest', 'offerwall', ['coins_100', 'coins_500'], 80, 0.14, 0.35, 0.8, all, 'USD', [0, 0.8]),
  campaign('creators', 'mira_plays', ['stream', 'short'], 30, 0.16, 1.5, 2.8, ['US', 'GB', 'DE'], 'EUR', [0.3, 0.65]),
  { ...campaign('clickharbor', 'global_cpi', ['s101', 's207'], 160, 0.05, 0.1, 0.7, all), is_fraud: true },
]

function campaign(
  partner: string,
  name: string,
  ad_groups: string[],
  clicks: number,
  conversion: number,
  quality: number,
  cpi: number,
  countries: string[],
  currency = 'USD',
  runs: [number, number] = [0, 1],
): Campaign {
  return { partner, campaign: name, ad_groups, clicks, conversion, quality, cpi, currency, countries, runs }
}

/** Every country in which somebody installs. */
export const countries = all.map((country, n) => ({ country, weight: 1 / (n + 1.5) }))

/** Installs a day that no ad brings. */
export const organic_installs = { android: 34, ios: 46 }

/** Products of the shop. */
export const products = [
  { product_id: 'starter_pack', price: 1.99, weight: 50 },
  { product_id: 'no_ads', price: 4.99, weight: 25 },
  { product_id: 'gems_1000', price: 9.99, weight: 14 },
  { product_id: 'season_pass', price: 14.99, weight: 8 },
  { product_id: 'gems_5000', price: 39.99, weight: 3 },
]

/** The currency of a purchase. */
export const currencyOf = (country: string): string => {
  if (country === 'GB') return 'GBP'
  return ['DE', 'FR', 'ES', 'IT'].includes(country) ? 'EUR' : 'USD'
}

/** Share of installs that are back on the day of an age, of an install of quality 1. */
export const retained = (age_days: number, quality: number): number =>
  Math.min(0.75, 0.46 * quality ** 0.45 * age_days ** -0.52)

export const devices = {
  android: [
    { model: 'Pixel 8', os_version: '14', weight: 3 },
    { model: 'SM-S921B', os_version: '15', weight: 5 },
    { model: 'SM-A546B', os_version: '14', weight: 4 },
    { model: 'Redmi Note 13', os_version: '13', weight: 3 },
  ],
  ios: [
    { model: 'iPhone15,2', os_version: '18.1', weight: 4 },
    { model: 'iPhone16,1', os_version: '18.2', weight: 4 },
    { model: 'iPad13,16', os_version: '17.6', weight: 1 },
  ],
}
