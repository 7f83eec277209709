import type { Service } from '@tributary/service-kit/service/run-service'
import type { Settings } from '@tributary/service-kit/settings/read-settings'
import type { ProveNotification } from '@tributary/stores/prove-notification'
import type { ProvePush } from '@tributary/stores/push-token'
import { appleRootsOf } from '@tributary/tenancy/stores/apple-roots-setting'

/**
 * What proves notifications of stores. Apple's library and that of tokens are loaded when the first notification comes, since
 * most processes never need them.
 */
export interface StoreProofs {
  apple(): Promise<ProveNotification>
  google(): Promise<ProvePush>
}

/** Refuses to start with a file of roots that holds none. */
export function openStoreProofs(
  config: Settings<'TRIBUTARY_APPLE_ROOTS_FILE' | 'TRIBUTARY_GOOGLE_CERTS_URL'>,
  { now, onClose, logger }: Pick<Service, 'now' | 'onClose' | 'logger'>,
): StoreProofs {
  const roots = appleRootsOf(config.TRIBUTARY_APPLE_ROOTS_FILE, logger)
  return {
    apple: once(async () => (await import('@tributary/stores/prove-notification')).proveNotification(roots)),
    google: once(async () => {
      const [{ openAsk }, { provePush }] = await Promise.all([
        import('@tributary/stores/ask'),
        import('@tributary/stores/push-token'),
      ])
      const { ask, close } = openAsk()
      onClose('requests for the keys of Google', close)
      return provePush({ ask, url: config.TRIBUTARY_GOOGLE_CERTS_URL, now })
    }),
  }
}

function once<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | null = null
  return () => {
    opened ??= open()
    return opened
  }
}
