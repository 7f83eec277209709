import type { Store } from '@tributary/contracts/receipt/receipt'
import type { ReadAppReceipt } from '@tributary/stores/app-receipt'
import { type AppStore, openAppStore } from '@tributary/stores/app-store'
import type { Ask } from '@tributary/stores/ask'
import { type GooglePlay, openGooglePlay, type Purchase } from '@tributary/stores/google-play'
import type { VerifyJws } from '@tributary/stores/verify-jws'
import { readStoreCredentials, type StoreCredentials } from '@tributary/tenancy/companies/store-credentials'
import type { MasterKeys } from '@tributary/tenancy/secrets/master-keys'
import type { ReceiptStores } from '@tributary/tenancy/stores/judge-receipt'
import type { Pool } from 'pg'
import { createRememberedAnswers, type KeptAnswers } from './remembered-answers.ts'
import { createStoreGate, type StoreGate } from './store-gate.ts'

export interface StoresDeps {
  postgres: Pool
  masterKeys: MasterKeys
  verify: VerifyJws
  readAppReceipt: ReadAppReceipt
  ask: Ask
  /** Addresses instead of the stores' own. */
  urls: { apple?: string | undefined; google?: string | undefined; google_token?: string | undefined }
  now(): number
  /** A clock that never goes back, in milliseconds. */
  elapsed(): number
}

/** What receipts of an app are judged with now. */
export interface AppWithStores {
  company_id: string
  platform: StoreCredentials['platform']
  bundle_id: string | null
  stores: ReceiptStores
  /** The stores that are away, with the time for which they rest. */
  resting: ReadonlyMap<Store, number>
}

type Gates = Record<Store, StoreGate>

/** Gives the stores of an app by its credentials of now; gates and answers outlive a change of these. */
export function createAppStores(deps: StoresDeps) {
  const { elapsed, postgres } = deps
  const gatesOf = new Map<string, Gates>()
  const kept: KeptAnswers = new Map()
  const opened = new Map<string, { credentials: string; stores: ReceiptStores }>()
  const forget = (kept: Map<string, unknown>) => {
    if (kept.size >= apps_max) kept.delete(kept.keys().next().value!)
  }

  function gates(app_id: string): Gates {
    const known = gatesOf.get(app_id)
    if (known !== undefined) return known
    forget(gatesOf)
    const made = { apple: createStoreGate(elapsed), google: createStoreGate(elapsed) }
    gatesOf.set(app_id, made)
    return made
  }

  function open(app_id: string, found: StoreCredentials): ReceiptStores {
    const credentials = JSON.stringify(found)
    const known = opened.get(app_id)
    if (known?.credentials === credentials) return known.stores
    forget(opened)
    const { bundle_id, apple, google } = found
    const { ask, urls, verify, readAppReceipt, now } = deps
    const answers = createRememberedAnswers(postgres, app_id, elapsed, kept)
    const gate = gates(app_id)
    const appStore =
      apple === null || bundle_id === null
        ? null
        : openAppStore(apple, bundle_id, { ask, urls: urls.apple === undefined ? undefined : [urls.apple] })
    const googlePlay =
      google === null || bundle_id === null
        ? null
        : openGooglePlay(google, bundle_id, { ask, url: urls.google, token_url: urls.google_token, now })
    const isSignedOf =
      (id: string) =>
      async ({ jws }: { jws: string }) => {
        const found = await verify(jws)
        return typeof found === 'object' && found.transactionId === id
      }
    const askApple: AppStore['ask'] = (id) =>
      answers.ask(['apple', bundle_id!, id], () => gate.apple.ask(() => appStore!.ask(id)), isSignedOf(id))
    const askGoogle: GooglePlay['ask'] = (receipt) =>
      answers.ask(
        ['google', bundle_id!, String(receipt.subscription ?? false), receipt.product_id, receipt.purchase_token],
        () => gate.google.ask(() => googlePlay!.ask(receipt)),
        isSettled,
      )
    const stores: ReceiptStores = {
      ...{ verify, readAppReceipt },
      appStore: appStore && { ...appStore, ask: askApple },
      googlePlay: googlePlay && { ...googlePlay, ask: askGoogle },
    }
    opened.set(app_id, { credentials, stores })
    return stores
  }

  return {
    async of(app_id: string): Promise<AppWithStores> {
      const found = await readStoreCredentials({ pool: postgres, masterKeys: deps.masterKeys }, app_id)
      const stores = open(app_id, found)
      return {
        company_id: found.company_id,
        platform: found.platform,
        bundle_id: found.bundle_id,
        stores,
        resting: this.resting(app_id),
      }
    },
    /** The stores of an app that are away now. */
    resting(app_id: string): Map<Store, number> {
      const rests = Object.entries(gates(app_id)).map(([store, gate]) => [store as Store, gate.rest_ms()] as const)
      return new Map(rests.filter(([, ms]) => ms > 0))
    },
  }
}
export type AppStores = ReturnType<typeof createAppStores>

/** Apps whose gates and answers a process keeps. */
const apps_max = 1000

/** A payment that Google waits for is asked for again. */
const isSettled = (purchase: Purchase): boolean =>
  'product' in purchase
    ? purchase.product.purchaseState !== 2
    : purchase.subscription.subscriptionState !== 'SUBSCRIPTION_STATE_PENDING'
