import type { Platform } from '@tributary/contracts/envelope'
import { CodedError } from '@tributary/contracts/errors'
import type { PoolClient } from 'pg'

/** SQL condition of an app that owns its store id. It is that of the index `apps_owned_store_id`, which serves look-ups only so. */
export const ownsStoreId = `platform = 'ios' AND owns_store_id AND ltrim(store_id, '0') <> ''`

/** Digits of an App Store address. Empty takes the id away. */
const appStoreId = /^(\d{1,20})?$/

/** Throws `invalid_field` for a `store_id` that no page of the App Store has; that of an Android app may be any text. */
export function mustFitStore(platform: Platform, store_id: string | null | undefined): void {
  if (platform !== 'ios' || appStoreId.test(store_id ?? '')) return
  const message = 'It must be the digits after `id` in the App Store address of the app, such as 310633997.'
  throw new CodedError('invalid_field', { field: 'store_id', message })
}

/** Throws `invalid_field` for an app that Apple sends no postbacks of; `field` names the app, or what it asks for. */
export function mustBeOnIos(platform: Platform, field: 'app_id' | 'development_keys' | 'id'): void {
  if (platform === 'ios') return
  const message = `It is for iOS apps alone: Apple sends no postbacks of an ${platform} app.`
  throw new CodedError('invalid_field', { field, message })
}

/** The app that owns a store id, locked, so that it gets no link meanwhile; null when none does. */
export async function lockOwner(client: Pick<PoolClient, 'query'>, store_id: string): Promise<string | null> {
  const { rows } = await client.query<{ app_id: string }>(
    `SELECT app_id FROM apps WHERE ${ownsStoreId} AND ltrim(store_id, '0') = ltrim($1, '0') FOR NO KEY UPDATE`,
    [store_id],
  )
  return rows[0]?.app_id ?? null
}

export const unownedStoreId = (): CodedError =>
  new CodedError('invalid_field', { field: 'store_id', message: 'No app has it; give it to one as its store_id.' })

/** Awaits a statement that may give an app a store id. Throws `store_id_taken` when another app owns it. */
export async function claimingStoreId<T>(statement: Promise<T>): Promise<T> {
  try {
    return await statement
  } catch (cause) {
    const { code, constraint } = cause as { code?: string; constraint?: string }
    if (code !== '23505' || constraint !== 'apps_owned_store_id') throw cause
    const message = 'Another app has it. An operator can move it: tributary app move-store-id.'
    throw new CodedError('store_id_taken', { field: 'store_id', message, cause })
  }
}
