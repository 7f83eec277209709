import { APIException, AppStoreServerAPIClient, Environment } from '@apple/app-store-server-library'
import type { AppleKey, StoreCheck } from '@tributary/contracts/receipt/store-credentials'
import type { Ask, StoreFault } from '../ask.ts'
import { isTransactionId } from './app-receipt.ts'

/** The App Store Server API of one app. */
export interface AppStore {
  /** The JWS of a transaction. Nothing in it is proven yet. */
  ask(transaction_id: string): Promise<{ jws: string } | StoreFault>
  /** Whether Apple takes the key for this app. */
  check(): Promise<StoreCheck>
}

/** Where Apple answers for purchases and for tests; with `TRIBUTARY_APPLE_API_URL` one address does for both. */
const own_urls = ['https://api.storekit.apple.com', 'https://api.storekit-sandbox.apple.com'] as const

export interface AppStoreOptions {
  ask: Ask
  /** Addresses of production and, where tests are known apart, of the sandbox; Apple's own when absent. */
  urls?: readonly [production: string, sandbox?: string] | undefined
}

/** Asks with the key of an app. The key is good: see `appleKeyFault`. */
export function openAppStore(key: AppleKey, bundle_id: string, { ask, urls = own_urls }: AppStoreOptions): AppStore {
  const clientOf = (base: string) => new Client(key, bundle_id, base, ask)
  const production = clientOf(urls[0])
  const sandbox = urls[1] === undefined ? undefined : clientOf(urls[1])
  return {
    async ask(transaction_id) {
      if (!isTransactionId(transaction_id)) return 'not_found'
      const found = await askOne(production, transaction_id)
      if (typeof found === 'object' || found === 'store_away' || sandbox === undefined) return found
      // Only the other environment knows purchases of tests, and apps that were never released.
      const tested = await askOne(sandbox, transaction_id)
      if (typeof tested === 'object') return tested
      return found === 'not_found' && tested !== 'store_away' ? found : tested
    },
    async check() {
      const said = await askOne(production, no_transaction)
      if ((said !== 'refused' && said !== 'unknown_app') || sandbox === undefined) return checkOf(said)
      // Production does not know an app that was never released, or refuses its keys.
      return checkOf(await askOne(sandbox, no_transaction))
    },
  }
}

/** No transaction has this id. */
const no_transaction = '0'

const checkOf = (said: { jws: string } | StoreFault): StoreCheck =>
  said === 'refused' || said === 'unknown_app' || said === 'store_away' ? said : 'ok'

/** Apple's client with the project's own requests: its own have neither timeouts nor an address that can be set. */
class Client extends AppStoreServerAPIClient {
  private readonly base: string
  private readonly send: Ask

  constructor({ issuer_id, key_id, key }: AppleKey, bundle_id: string, base: string, send: Ask) {
    super(key, key_id, issuer_id, bundle_id, Environment.SANDBOX)
    this.base = base.replace(/\/+$/, '')
    this.send = send
  }

  protected override async makeFetchRequest(
    path: string,
    _query: URLSearchParams,
    _method: string,
    _body: string | Buffer | undefined,
    headers: Record<string, string>,
  ) {
    const { status, text } = await this.send(`${this.base}${path}`, { method: 'GET', headers })
    const answer = { ok: status === 200, status, json: async () => JSON.parse(text) }
    return answer as Awaited<ReturnType<AppStoreServerAPIClient['makeFetchRequest']>>
  }
}

async function askOne(client: Client, transaction_id: string): Promise<{ jws: string } | StoreFault> {
  try {
    const { signedTransactionInfo } = await client.getTransactionInfo(transaction_id)
    return typeof signedTransactionInfo === 'string' ? { jws: signedTransactionInfo } : 'store_away'
  } catch (err) {
    return err instanceof APIException ? faultOf(err) : 'store_away'
  }
}

/** Codes of "Error codes" of the App Store Server API. A 404 without one is of something between Apple and this process. */
const not_found_codes: readonly unknown[] = [4000006, 4040001, 4040005, 4040010]
const unknown_app_code = 4040003

function faultOf({ httpStatusCode, apiError }: APIException): StoreFault {
  if (not_found_codes.includes(apiError)) return 'not_found'
  if (apiError === unknown_app_code) return 'unknown_app'
  return httpStatusCode === 401 || httpStatusCode === 403 ? 'refused' : 'store_away'
}
