import type { Pool } from 'pg'
import { ownsStoreId } from '../companies/store-id.ts'
import { type KeptLookupsOptions, openKeptLookups } from '../credentials/kept-lookups.ts'
import { postgresUnavailable } from '../postgres-unavailable.ts'
import type { StoreApp, StoreApps } from './store-apps.ts'

/** Tables hold item ids as UInt64. */
const item_id_max = 2n ** 64n - 1n
const isItemId = (text: string): boolean => /^[1-9]\d{0,19}$/.test(text) && BigInt(text) <= item_id_max

/** A store id that no item can have matches nothing. */
const toStoreApp = (app: StoreApp): StoreApp =>
  app.store_id === null || isItemId(app.store_id) ? app : { ...app, store_id: null }

const nobody = Promise.resolve(null)

/**
 * Apps with their store ids from memory over PostgreSQL (promises: see `StoreApps`). It resolves at once; an item id of a
 * wrong shape is answered null without a query.
 */
export async function openStoreApps(options: KeptLookupsOptions): Promise<StoreApps> {
  const lookups = openKeptLookups({ name: 'store_apps', channels: ['credentials_changed'] }, options)
  const { find } = lookups.keep(
    async (ids) => new Map((await byApp(options.pool, ids)).map((app) => [app.app_id, app])),
    toStoreApp,
  )
  const { find: findOwner } = lookups.keep(
    async (ids) => new Map((await byStoreId(options.pool, ids)).map((app) => [app.store_id!, app])),
    toStoreApp,
  )
  return {
    find,
    findOwner: (store_id) => (isItemId(store_id) ? findOwner(store_id) : nobody),
    ownedItems: () => ownedItems(options.pool),
    close: lookups.close,
  }
}

const columns = `app_id, company_id, development_keys, valid_receipts_only,
  CASE WHEN ${ownsStoreId} THEN ltrim(store_id, '0') END AS store_id`

async function byApp(pool: Pool, app_ids: readonly string[]): Promise<StoreApp[]> {
  const text = `SELECT ${columns} FROM apps WHERE app_id = ANY($1::text[])`
  return (await pool.query<StoreApp>({ name: 'store_apps', text, values: [app_ids] })).rows
}

async function ownedItems(pool: Pool): Promise<string[]> {
  const text = `SELECT ltrim(store_id, '0') AS item FROM apps WHERE ${ownsStoreId}`
  try {
    const { rows } = await pool.query<{ item: string }>({ name: 'owned_store_ids', text })
    return rows.map(({ item }) => item).filter(isItemId)
  } catch (error) {
    throw postgresUnavailable(error)
  }
}

async function byStoreId(pool: Pool, store_ids: readonly string[]): Promise<StoreApp[]> {
  const text = `SELECT ${columns} FROM apps WHERE ${ownsStoreId} AND ltrim(store_id, '0') = ANY($1::text[])`
  return (await pool.query<StoreApp>({ name: 'store_id_owners', text, values: [store_ids] })).rows
}
