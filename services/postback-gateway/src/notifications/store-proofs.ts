import type { Service } from '@tributary/service-kit/service/run-service'
import type { Settings } from '@tributary/service-kit/settings/read-settings'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'
import { readAppleRoots } from '@tributary/stores/apple-roots'
import type { ProveNotification } from '@tributary/stores/prove-notification'
import type { ProvePush } from '@tributary/stores/push-token'

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
  { now, onClose }: Pick<Service, 'now' | 'onClose'>,
): StoreProofs {
  const roots = readRoots(config.TRIBUTARY_APPLE_ROOTS_FILE)
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

function readRoots(file: string | undefined) {
  try {
    return readAppleRoots(file)
  } catch (err) {
    throw new StartRefused(`TRIBUTARY_APPLE_ROOTS_FILE: ${(err as Error).message}`, { cause: err })
  }
}

function once<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | null = null
  return () => {
    opened ??= open()
    return opened
  }
}
