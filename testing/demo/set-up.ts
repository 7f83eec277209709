import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { adminApi } from '../fuzz/tenants.ts'
import type { DemoApp } from './doors.ts'
import { linkKey } from './history.ts'
import { campaigns } from './market.ts'

const root = join(import.meta.dirname, '..', '..')

/** Item id of the iOS app in the store. */
export const ios_store_id = 6_478_123_001

/** The rates of the demo: those of one day, for all of its days. */
const ratesOf = (first_day: string) =>
  `Date, USD, GBP, JPY, BRL, INR, CAD, MXN, PLN, \n${first_day}, 1.16, 0.87, 176.2, 6.21, 102.6, 1.62, 21.3, 4.24, \n`

/** Makes what the first start did not: links, a key for costs, a store id, a schema of conversion values, exchange rates. */
export async function setUp(url: string, admin_token: string, env: Record<string, string>, first_ms: number) {
  const admin = adminApi(url, admin_token)
  const [app_id, ios_app_id, company_key] = [env.APP_ID!, env.IOS_APP_ID!, env.COMPANY_KEY!]
  const android: DemoApp = {
    ...{ platform: 'android', app_id, app_key: env.APP_KEY!, company_key },
    ...{ signing_secret: env.SIGNING_SECRET!, server_key: env.SERVER_KEY! },
  }
  const ios: DemoApp = {
    ...{ platform: 'ios', app_id: ios_app_id, app_key: env.IOS_APP_KEY!, company_key },
    ...{ signing_secret: env.IOS_SIGNING_SECRET!, server_key: env.IOS_SERVER_KEY! },
  }
  await post(`/apps/${ios_app_id}`, 'PATCH', JSON.stringify({ store_id: String(ios_store_id) }))
  const links = new Map<string, string>()
  for (const app of [android, ios])
    for (const campaign of campaigns)
      for (const ad_group of campaign.ad_groups) {
        const { partner, campaign: name } = campaign
        const link = { app_id: app.app_id, partner, campaign: name, ad_group }
        links.set(linkKey(app, campaign, ad_group), (await admin<{ link_id: string }>('/links', link)).link_id)
      }
  const key = { app_id, label: 'costs', allowed_events: [], scopes: ['costs:write'] }
  const costs_key = (await admin<{ key: string }>('/keys', key)).key
  const schema = readFileSync(join(root, 'examples/cv-schema/puzzle-game.json'), 'utf8')
  await post('/cv-schemas', 'POST', JSON.stringify({ app_id: ios_app_id, schema: JSON.parse(schema) }))
  await post('/fx-rates', 'POST', ratesOf(new Date(first_ms - 86_400_000).toISOString().slice(0, 10)), 'text/csv')
  return { android, ios, links, costs_key }

  async function post(path: string, method: string, body: string, type = 'application/json') {
    const headers = { authorization: `Bearer ${admin_token}`, 'content-type': type }
    const answer = await fetch(`${url}/admin/api/v1${path}`, { method, headers, body })
    if (answer.status !== 200) throw new Error(`${method} ${path} answered ${answer.status} ${await answer.text()}`)
  }
}
