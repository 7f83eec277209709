import { hash } from 'node:crypto'
import type { MasterKeys } from '../secrets/master-keys.ts'
import type { Credentials } from './credentials.ts'
import { credentialsQueries } from './credentials-queries.ts'
import { type KeptLookupsOptions, openKeptLookups } from './kept-lookups.ts'

export interface CredentialsOptions extends KeptLookupsOptions {
  /** Only a service that checks signatures needs it: without it `findApp` rejects. */
  masterKeys?: MasterKeys
}

const appKeyShape = /^app_live_[0-9a-f]{32}$/
const companyKeyShape = /^co_live_[0-9a-f]{32}$/
const serverKeyShape = /^srv_[0-9a-f]{48}$/
const nobody = Promise.resolve(null)

/**
 * Credentials from memory over PostgreSQL (promises: see `Credentials`). It resolves at once, also with PostgreSQL away;
 * a key of a wrong shape is answered null without a query.
 */
export async function openCredentials({ masterKeys, ...options }: CredentialsOptions): Promise<Credentials> {
  const queries = credentialsQueries(options.pool, masterKeys)
  const lookups = openKeptLookups({ name: 'credentials', channels: ['credentials_changed'] }, options)
  const { find: findApp } = lookups.keep(queries.apps, queries.toApp)
  const { find: findCompany } = lookups.keep(queries.companies, queries.toCompany)
  const { find: findServerKey } = lookups.keep(queries.serverKeys, queries.toServerKey)
  return {
    findApp: (key) => (appKeyShape.test(key) ? findApp(key) : nobody),
    findCompany: (key) => (companyKeyShape.test(key) ? findCompany(key) : nobody),
    findServerKey: (key) => (serverKeyShape.test(key) ? findServerKey(hash('sha256', key, 'hex')) : nobody),
    close: lookups.close,
  }
}
