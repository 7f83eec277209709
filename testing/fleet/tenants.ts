import { migratePostgres } from '@tributary/postgres/migrate'
import { openPostgres } from '@tributary/postgres/postgres'
import { createApp, createCompany, createServerKey } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys, readMasterKey } from '@tributary/tenancy/secrets/master-keys'

/** An app with the credentials of its clients. */
export interface FleetTenant {
  company_key: string
  app_id: string
  app_key: string
  signing_secret: string
  server_key: string
}

/** Migrates the database, and makes a company without a quota and with `apps` apps, alternately Android and iOS. */
export async function makeTenants(url: string, master_key: string, apps: number): Promise<FleetTenant[]> {
  const pool = openPostgres({ url, pool_max: 2, statement_timeout_ms: 10_000, connect_timeout_ms: 10_000 })
  try {
    await migratePostgres({ pool })
    const masterKeys = openMasterKeys([readMasterKey(master_key)])
    const request = { actor: 'fleet', request_id: 'fleet', now_ms: Date.now() }
    const company = await createCompany(pool, { name: 'Fleet', plan: 'unlimited' }, request)
    const { company_id, company_key } = company
    const tenants: FleetTenant[] = []
    for (let n = 0; n < apps; n += 1) {
      const platform = n % 2 === 0 ? 'android' : 'ios'
      const app = await createApp(pool, masterKeys, { company_id, name: `App ${n}`, platform }, request)
      const key = { app_id: app.app_id, label: 'backend', allowed_events: [] }
      tenants.push({ company_key, ...app, server_key: (await createServerKey(pool, key, request)).key })
    }
    return tenants
  } finally {
    await pool.end()
  }
}
