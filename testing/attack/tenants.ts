import { createHmac } from 'node:crypto'
import { adminApi, makeLink } from '../fuzz/tenants.ts'

/** A company with one app and the credentials of its clients. */
export interface AttackTenant {
  company_id: string
  app_id: string
  company_key: string
  app_key: string
  signing_secret: string
  server_key: string
  /** A second key, so that reports do not use up the rate of `server_key`. */
  report_key: string
  /** A third one, to look for verdicts. */
  watch_key: string
  /** A tracking link and a honeypot of the company. */
  link_id: string
  trap_id: string
}

/** Makes a company with one app and two keys through the admin API. */
export async function makeTenant(
  url: string,
  admin_token: string,
  name: string,
  monthly_quota?: number,
): Promise<AttackTenant> {
  const admin = adminApi(url, admin_token)
  type Company = { company_id: string; company_key: string }
  const { company_id, company_key } = await admin<Company>('/companies', { name, plan: 'unlimited', monthly_quota })
  type App = { app_id: string; app_key: string; signing_secret: string }
  const { app_id, app_key, signing_secret } = await admin<App>('/apps', {
    ...{ company_id, name, platform: 'android' },
    bundle_id: 'com.example.attacked',
  })
  const makeKey = async () => (await admin<{ key: string }>('/keys', { app_id, label: name, allowed_events: [] })).key
  const [server_key, report_key, watch_key] = await Promise.all([makeKey(), makeKey(), makeKey()])
  const { link_id } = await admin<{ link_id: string }>('/links', { app_id, partner: 'net' })
  const trap_id = await makeLink(admin, company_id, true)
  return {
    company_id,
    app_id,
    company_key,
    app_key,
    signing_secret,
    server_key,
    report_key,
    watch_key,
    link_id,
    trap_id,
  }
}

/** The headers of a signed SDK request. */
export const signedHeaders = (tenant: AttackTenant, body: Buffer): Record<string, string> => ({
  'x-service-company-key': tenant.company_key,
  'x-service-app-key': tenant.app_key,
  'x-service-signature': createHmac('sha256', tenant.signing_secret).update(body).digest('hex'),
})
