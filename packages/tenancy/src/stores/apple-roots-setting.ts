import type { X509Certificate } from 'node:crypto'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'
import { readAppleRoots } from '@tributary/stores/apple-roots'
import type { Logger } from 'pino'

/** The roots that `TRIBUTARY_APPLE_ROOTS_FILE` names, else the pinned ones. Refuses to start with a file that holds none. */
export function appleRootsOf(file: string | undefined, logger: Pick<Logger, 'warn'>): X509Certificate[] {
  if (file !== undefined) logger.warn('TRIBUTARY_APPLE_ROOTS_FILE is set: whoever owns its keys can make receipts')
  try {
    return readAppleRoots(file)
  } catch (err) {
    throw new StartRefused(`TRIBUTARY_APPLE_ROOTS_FILE: ${(err as Error).message}`, { cause: err })
  }
}
