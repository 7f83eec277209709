import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLink } from '@tributary/tenancy/companies/links'
import { createApp, createCompany, createServerKey, listCompanies } from '@tributary/tenancy/companies/tenants'
import type { MasterKeys } from '@tributary/tenancy/secrets/master-keys'
import type { Pool } from 'pg'
import { writePrivateFile } from './local-secrets.ts'

export interface DemoDeps {
  pool: Pool
  masterKeys: MasterKeys
  data_dir: string
  base_url: string
  now: () => number
}

/**
 * Makes the demo company with an Android and an iOS app when there is no company yet, and returns the lines to show;
 * null at every later start. The ids and keys also go into `demo.env` (mode 0600), for `source`; later starts keep its
 * address and its folder true.
 */
export async function makeDemoCompany({
  pool,
  masterKeys,
  data_dir,
  base_url,
  now,
}: DemoDeps): Promise<string[] | null> {
  const file = join(data_dir, 'demo.env')
  if ((await listCompanies(pool)).length > 0) {
    keepAddress(file, { TRIBUTARY_URL: base_url, TRIBUTARY_DATA_DIR: data_dir })
    return null
  }
  const actor = { actor: 'standalone', request_id: 'first-start', now_ms: now() }
  const company = await createCompany(pool, { name: 'Demo', plan: 'unlimited' }, actor)
  const { company_id } = company
  const android = await createApp(
    pool,
    masterKeys,
    { company_id, name: 'Demo Android', platform: 'android', bundle_id: 'com.example.demo' },
    actor,
  )
  // Lists go by time: the app of `demo.env`'s plain names comes first, also as the one that the panel opens.
  const later = { ...actor, now_ms: actor.now_ms + 1 }
  const ios = await createApp(pool, masterKeys, { company_id, name: 'Demo iOS', platform: 'ios' }, later)
  const label = 'demo backend'
  const androidKey = await createServerKey(pool, { app_id: android.app_id, label, allowed_events: [] }, actor)
  const iosKey = await createServerKey(pool, { app_id: ios.app_id, label, allowed_events: [] }, actor)
  const link = { app_id: android.app_id, partner: 'example_ads', campaign: 'demo', honeypot: false }
  const link_id = await createLink(pool, link, actor)
  const env = {
    TRIBUTARY_URL: base_url,
    COMPANY_ID: company_id,
    APP_ID: android.app_id,
    LINK_ID: link_id,
    IOS_APP_ID: ios.app_id,
    COMPANY_KEY: company.company_key,
    APP_KEY: android.app_key,
    SIGNING_SECRET: android.signing_secret,
    SERVER_KEY: androidKey.key,
    TRIBUTARY_SERVER_KEY: androidKey.key,
    IOS_APP_KEY: ios.app_key,
    IOS_SIGNING_SECRET: ios.signing_secret,
    IOS_SERVER_KEY: iosKey.key,
    TRIBUTARY_DATA_DIR: data_dir,
  }
  writePrivateFile(
    file,
    Object.entries(env)
      .map(([name, value]) => `export ${name}=${quote(value)}\n`)
      .join(''),
  )
  return demoLines(env, file)
}

/** Quotes a value for a shell; a path may hold anything. */
const quote = (value: string): string =>
  /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`

/**
 * A start on another port or of a moved folder changes these lines of `demo.env`, and nothing else of it; a file that was
 * removed stays away.
 */
function keepAddress(file: string, address: Record<string, string>): void {
  if (!existsSync(file)) return
  const text = readFileSync(file, 'utf8')
  const changed = Object.entries(address).reduce(
    (kept, [name, value]) =>
      kept.replace(new RegExp(`^export ${name}=.*$`, 'm'), () => `export ${name}=${quote(value)}`),
    text,
  )
  if (changed !== text) writePrivateFile(file, changed)
}

function demoLines(env: Record<string, string>, file: string): string[] {
  return [
    '',
    'A demo company with an Android and an iOS app is ready. Its keys are shown once, here,',
    `and kept in ${file} for you to load with:  source ${file}`,
    '',
    ...Object.entries(env).map(([name, value]) => `  ${name.padEnd(20)} ${value}`),
    '',
    'Send a first event, then ask for the report:',
    '',
    `  BODY='{"sent_at_ms":'$(date +%s)'000,"events":[{"event_id":"first-1","event_name":"app_install","install_uuid":"11111111-2222-4333-8444-555555555555"}]}'`,
    `  SIGNATURE=$(printf '%s' "$BODY" | openssl dgst -sha256 -hmac '${env.SIGNING_SECRET}' -r | cut -d' ' -f1)`,
    `  curl -sS ${env.TRIBUTARY_URL}/event -H 'Content-Type: application/json' -H 'X-Service-Company-Key: ${env.COMPANY_KEY}' -H 'X-Service-App-Key: ${env.APP_KEY}' -H "X-Service-Signature: $SIGNATURE" --data-binary "$BODY"`,
    `  curl -sS ${env.TRIBUTARY_URL}/api/v1/reports/events -H 'Authorization: Bearer ${env.SERVER_KEY}'`,
    '',
    'See where a tracking link leads a phone:',
    '',
    `  curl -sSi ${env.TRIBUTARY_URL}/l/${env.LINK_ID} -A 'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36'`,
    '',
  ]
}
