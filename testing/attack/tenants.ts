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

/** What signs for an app. */
export type Signer = Pick<AttackTenant, 'company_key' | 'app_key' | 'signing_secret'>

const makeCompany = (admin: ReturnType<typeof adminApi>, name: string, monthly_quota?: number) =>
  admin<{ company_id: string; company_key: string }>('/companies', { name, plan: 'unlimited', monthly_quota })

const makeApp = (admin: ReturnType<typeof adminApi>, company_id: string, name: string) =>
  admin<{ app_id: string; app_key: string; signing_secret: string }>('/apps', {
    ...{ company_id, name, platform: 'android' },
    bundle_id: 'com.example.attacked',
  })

/** Makes a company with one app and its keys through the admin API. */
export async function makeTenant(
  url: string,
  admin_token: string,
  name: string,
  monthly_quota?: number,
): Promise<AttackTenant> {
  const admin = adminApi(url, admin_token)
  const { company_id, company_key } = await makeCompany(admin, name, monthly_quota)
  const { app_id, app_key, signing_secret } = await makeApp(admin, company_id, name)
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

/** Makes companies with some apps each. Gives the signers of all apps, those of one company behind each other. */
export async function makeSigners(
  url: string,
  admin_token: string,
  companies: number,
  apps: number,
): Promise<Signer[]> {
  const admin = adminApi(url, admin_token)
  const signers: Signer[] = []
  for (let n = 0; n < companies; n += 1) {
    const { company_id, company_key } = await makeCompany(admin, `Stolen ${n}`)
    for (let m = 0; m < apps; m += 1) {
      const { app_key, signing_secret } = await makeApp(admin, company_id, `Stolen ${n}.${m}`)
      signers.push({ company_key, app_key, signing_secret })
    }
  }
  return signers
}

/** The headers of a signed SDK request. */
export const signedHeaders = (tenant: Signer, body: Buffer): Record<string, string> => ({
  'x-service-company-key': tenant.company_key,
  'x-service-app-key': tenant.app_key,
  'x-service-signature': createHmac('sha256', tenant.signing_secret).update(body).digest('hex'),
})
