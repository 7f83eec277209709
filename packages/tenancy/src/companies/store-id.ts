import type { Platform } from '@tributary/contracts/envelope'
import { CodedError } from '@tributary/contracts/errors'

/** Digits of an App Store address. Empty takes the id away. */
const appStoreId = /^(\d{1,20})?$/

/** Throws `invalid_field` for a `store_id` that no page of the App Store has; that of an Android app may be any text. */
export function mustFitStore(platform: Platform, store_id: string | null | undefined): void {
  if (platform !== 'ios' || appStoreId.test(store_id ?? '')) return
  const message = 'It must be the digits after `id` in the App Store address of the app, such as 310633997.'
  throw new CodedError('invalid_field', { field: 'store_id', message })
}
