import type { StoresChecked } from '@tributary/contracts/admin/stores'
import type { StoreCheck } from '@tributary/contracts/receipt/store-credentials'
import type { StoreCredentials } from '@tributary/tenancy/companies/store-credentials'

/** Addresses instead of the stores' own. */
export interface StoreUrls {
  /** `TRIBUTARY_APPLE_API_URL` */
  apple?: string | undefined
  /** `TRIBUTARY_GOOGLE_API_URL`, and `TRIBUTARY_GOOGLE_TOKEN_URL`. */
  google?: string | undefined
  google_token?: string | undefined
}

/** Asks both stores at once. Apple's library is loaded here, since most processes never need it. */
export async function checkStores(
  { bundle_id, apple, google }: StoreCredentials,
  urls: StoreUrls,
): Promise<StoresChecked> {
  if (apple === null && google === null) return { apple: 'no_credentials', google: 'no_credentials' }
  const [{ openAsk }, { openAppStore }, { openGooglePlay }] = await Promise.all([
    import('@tributary/stores/ask'),
    import('@tributary/stores/app-store'),
    import('@tributary/stores/google-play'),
  ])
  const { ask, close } = openAsk()
  const without = (credentials: unknown): StoreCheck => (credentials === null ? 'no_credentials' : 'no_bundle_id')
  try {
    const [of_apple, of_google] = await Promise.all([
      apple === null || bundle_id === null
        ? without(apple)
        : openAppStore(apple, bundle_id, { ask, urls: urls.apple === undefined ? undefined : [urls.apple] }).check(),
      google === null || bundle_id === null
        ? without(google)
        : openGooglePlay(google, bundle_id, { ask, url: urls.google, token_url: urls.google_token }).check(),
    ])
    return { apple: of_apple, google: of_google }
  } finally {
    await close()
  }
}
