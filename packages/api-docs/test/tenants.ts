import type { DocumentedLinks } from './shots/link-shots.ts'
import { type NotifiedApps, notified_bundle_id, pushSettings } from './shots/store-shots.ts'

/** A company with one Android app, its keys and a tracking link, made by the admin API. */
export interface Tenant {
  company_id: string
  company_key: string
  app_id: string
  app_key: string
  signing_secret: string
  key_id: string
  server_key: string
  link_id: string
}

export interface TenantOptions {
  monthly_quota?: number
  allowed_events?: string[]
  scopes?: string[]
}

/** The admin API of a running service, as far as tests of the document need it. */
export function adminOf(url: string, admin_token: string) {
  const post = async (path: string, body: object = {}, method = 'POST') => {
    const headers = { authorization: `Bearer ${admin_token}` }
    const answer = await fetch(`${url}/admin/api/v1${path}`, { method, headers, body: JSON.stringify(body) })
    if (answer.status !== 200) throw new Error(`${path}: ${await answer.text()}`)
    return answer.json() as Promise<Record<string, string>>
  }
  return {
    suspend: (company_id: string) => post(`/companies/${company_id}/suspend`),
    revoke: (key_id: string) => post(`/keys/${key_id}/revoke`),
    /** A link and a honeypot link of a new app of the company. */
    async createLinks(company_id: string): Promise<DocumentedLinks> {
      const bundle_id = 'com.example.documented'
      const { app_id } = await post('/apps', { company_id, name: 'Linked', platform: 'android', bundle_id })
      const { link_id = '' } = await post('/links', { app_id, partner: 'net' })
      const { link_id: trap_id = '' } = await post('/links', { app_id, partner: 'net', honeypot: true })
      return { link_id, trap_id }
    },
    async createIosApp(company_id: string): Promise<string> {
      const { app_id = '' } = await post('/apps', { company_id, name: 'Documented', platform: 'ios' })
      return app_id
    },
    /** An app of each platform that the stores notify. */
    async createNotifiedApps(company_id: string): Promise<NotifiedApps> {
      const given = { company_id, name: 'Notified', bundle_id: notified_bundle_id }
      const { app_key: ios = '' } = await post('/apps', { ...given, platform: 'ios' })
      const { app_key: android = '', app_id } = await post('/apps', { ...given, platform: 'android' })
      await post(`/apps/${app_id}`, pushSettings, 'PATCH')
      return { ios, android }
    },
    async createTenant({ allowed_events = [], scopes, ...quota }: TenantOptions = {}): Promise<Tenant> {
      const company = await post('/companies', { name: 'Documented', ...quota })
      const { company_id } = company
      const app = await post('/apps', {
        ...{ company_id, name: 'Documented', platform: 'android', bundle_id: 'com.example' },
      })
      const asked = { app_id: app.app_id, label: 'documented', allowed_events, scopes }
      const { key, ...rest } = await post('/keys', asked)
      const { link_id } = await post('/links', { app_id: app.app_id, partner: 'documented' })
      return { ...company, ...app, ...rest, server_key: key, link_id } as unknown as Tenant
    },
  }
}
