import type { PurchaseToken } from '@tributary/contracts/receipt/receipt'
import type { ServiceAccount, StoreCheck } from '@tributary/contracts/receipt/store-credentials'
import { ProductPurchase, SubscriptionPurchase } from '@tributary/contracts/receipt/transactions'
import { type Ask, readJson, type StoreFault } from '../ask.ts'
import { openAccessToken } from './access-token.ts'

export type Purchase = { product: ProductPurchase } | { subscription: SubscriptionPurchase }

/** The Play Developer API of one app. */
export interface GooglePlay {
  ask(receipt: PurchaseToken): Promise<Purchase | StoreFault>
  /** Whether Google takes the service account for purchases of this app. */
  check(): Promise<StoreCheck>
}

export interface GooglePlayOptions {
  ask: Ask
  /** `TRIBUTARY_GOOGLE_API_URL` and `TRIBUTARY_GOOGLE_TOKEN_URL`. */
  url?: string | undefined
  token_url?: string | undefined
  now?: (() => number) | undefined
}

const own_url = 'https://androidpublisher.googleapis.com'

/** Asks with the service account of an app. The account is good: see `googleKeyFault`. */
export function openGooglePlay(
  account: ServiceAccount,
  package_name: string,
  { ask, url = own_url, token_url, now }: GooglePlayOptions,
): GooglePlay {
  const token = openAccessToken(account, { ask, url: token_url, now })
  const purchases = `${url.replace(/\/+$/, '')}/androidpublisher/v3/applications/${encodeURIComponent(package_name)}/purchases`

  async function get(path: string): Promise<Record<string, unknown> | StoreFault> {
    const bearer = await token.get()
    if (bearer === 'refused' || bearer === 'store_away') return bearer
    const headers = { authorization: `Bearer ${bearer.token}`, accept: 'application/json' }
    const answer = await ask(`${purchases}${path}`, { method: 'GET', headers }).catch(() => null)
    if (answer === null) return 'store_away'
    if (answer.status === 401) token.forget()
    return answer.status === 200 ? (readJson(answer.text) ?? 'store_away') : faultOf(answer.status, answer.text)
  }

  return {
    async ask({ purchase_token, product_id, subscription = false }) {
      const id = encodeURIComponent(purchase_token)
      const said = await get(
        subscription ? `/subscriptionsv2/tokens/${id}` : `/products/${encodeURIComponent(product_id)}/tokens/${id}`,
      )
      if (typeof said === 'string') return said
      if (subscription) {
        const read = SubscriptionPurchase.safeParse(said)
        return read.success ? { subscription: read.data } : 'store_away'
      }
      const read = ProductPurchase.safeParse(said)
      return read.success ? { product: read.data } : 'store_away'
    },
    async check() {
      const said = await get('/products/tributary.check/tokens/tributary-check')
      return said === 'refused' || said === 'unknown_app' || said === 'store_away' ? said : 'ok'
    },
  }
}

/** Reasons of errors of the Play Developer API that say more than their status. */
const faults: Record<string, StoreFault> = {
  purchaseTokenDoesNotMatchProductId: 'wrong_product',
  purchaseTokenDoesNotMatchPackageName: 'wrong_bundle',
  applicationNotFound: 'unknown_app',
}

/** Google answers 400 to a token that it never made, 404 and 410 to one that it forgot. */
function faultOf(status: number, text: string): StoreFault {
  const error = readJson(text)?.error as { errors?: { reason?: unknown }[] } | undefined
  if (typeof error !== 'object' || error === null) return status === 410 ? 'not_found' : 'store_away'
  const reason = Array.isArray(error.errors) ? String(error.errors[0]?.reason) : ''
  if (Object.hasOwn(faults, reason)) return faults[reason]!
  if (status === 401 || (status === 403 && !/rateLimit|quota/i.test(reason))) return 'refused'
  return [400, 404, 410].includes(status) ? 'not_found' : 'store_away'
}
