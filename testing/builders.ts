import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { keyScopes } from '@tributary/contracts/admin/server-keys'
import type { Platform } from '@tributary/contracts/envelope'
import type {
  AppCredential,
  CompanyCredential,
  Credentials,
  ServerKeyCredential,
} from '@tributary/tenancy/credentials/credentials'
import type { LiveSchemas } from '@tributary/tenancy/postbacks/cv-schemas'
import { toLiveSchema } from '@tributary/tenancy/postbacks/cv-schemas-cache'

const hex = (chars: number) => randomBytes(chars / 2).toString('hex')

/** An SDK event that is accepted. `change` replaces fields, or removes them with undefined. */
export const sdkEvent = (change: Record<string, unknown> = {}): Record<string, unknown> => ({
  event_id: randomUUID(),
  event_name: 'level_up',
  install_uuid: randomUUID(),
  event_ts_ms: Date.now(),
  ...change,
})

/** `X-Service-Signature`: lower-case hex HMAC-SHA256 of the exact body bytes. */
export const sign = (signing_secret: string, body: Buffer | string): string =>
  createHmac('sha256', signing_secret).update(body).digest('hex')

/** A company with one app and one server key, in the form of a gateway's credentials. */
export interface Tenant {
  company_key: string
  app_key: string
  server_key: string
  company: CompanyCredential
  app: AppCredential
  key: ServerKeyCredential
}

export function buildTenant(platform: Platform = 'android', allowed_events: readonly string[] = []): Tenant {
  const company_id = `co_${hex(20)}`
  const app_id = `app_${hex(20)}`
  const shared = { app_id, company_id, platform }
  return {
    company_key: `co_live_${hex(32)}`,
    app_key: `app_live_${hex(32)}`,
    server_key: `srv_${hex(48)}`,
    company: { company_id, status: 'active', monthly_quota: null },
    app: { ...shared, signing_secret: hex(64), old_secrets: [] },
    key: {
      ...{ ...shared, key_id: `key_${hex(20)}`, allowed_events, scopes: keyScopes },
      ...{ company_status: 'active', monthly_quota: null },
    },
  }
}

/** The credentials of these tenants. Each call reads them anew, so that a test can suspend or revoke. */
export const memoryCredentials = (tenants: readonly Tenant[]): Credentials => ({
  findApp: async (app_key) => tenants.find((tenant) => tenant.app_key === app_key)?.app ?? null,
  findCompany: async (company_key) => tenants.find((tenant) => tenant.company_key === company_key)?.company ?? null,
  findServerKey: async (key) => tenants.find((tenant) => tenant.server_key === key)?.key ?? null,
  close: async () => {},
})

/** Credentials for reports: the id of an app is its server key and its company, and any id is known. */
export const appIdsAsKeys: Pick<Credentials, 'findServerKey'> = {
  findServerKey: async (app_id) => ({
    ...{ key_id: app_id, app_id, company_id: app_id, platform: 'ios', allowed_events: [], scopes: ['reports:read'] },
    ...{ company_status: 'active', monthly_quota: null },
  }),
}

/** Schemas of apps that have published none. */
export const noSchemas: Pick<LiveSchemas, 'find'> = {
  find: async (app_id) => toLiveSchema({ app_id, company_id: '', version: null, postbacks: null }),
}

/** The headers of a signed `/event` request. */
export const signedHeaders = (tenant: Tenant, body: Buffer | string): Record<string, string> => ({
  'x-service-company-key': tenant.company_key,
  'x-service-app-key': tenant.app_key,
  'x-service-signature': sign(tenant.app.signing_secret, body),
})
