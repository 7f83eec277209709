import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { limits } from '@tributary/contracts/limits'
import { appleNotification, appleTransaction, createAppleAuthority } from '@tributary/testing/stores/apple-authority'
import { createGooglePushAuthority, googlePush } from '@tributary/testing/stores/google-push-authority'
import { bearer, type Shot } from '../shot.ts'

/** An app of each platform that the stores notify: its app key. */
export interface NotifiedApps {
  ios: string
  android: string
}

const push_email = 'push@example.iam.gserviceaccount.com'
const push_audience = 'https://example.com/push'

/** Settings of the Android app, and the bundle id and package name of both. */
export const pushSettings = { google_push_email: push_email, google_push_audience: push_audience }
export const notified_bundle_id = 'com.example.run'

/** Stores that sign with keys of their own, the settings of a service that trusts them, and shots at its doors. */
export async function openSigningStores(dir: string) {
  const apple = createAppleAuthority()
  const google = createGooglePushAuthority(Date.now)
  const roots = join(dir, 'roots.pem')
  writeFileSync(roots, apple.root.certificate.toString())
  const server = createServer((_request, response) => response.end(google.jwks))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const certs = `http://127.0.0.1:${(server.address() as AddressInfo).port}/certs`
  return {
    env: { TRIBUTARY_APPLE_ROOTS_FILE: roots, TRIBUTARY_GOOGLE_CERTS_URL: certs },
    shots(apps: NotifiedApps): Shot[] {
      const signedTransactionInfo = apple.sign(appleTransaction({ type: 'Auto-Renewable Subscription' }))
      const signedPayload = apple.sign(appleNotification({ signedTransactionInfo }))
      const headers = bearer(google.token({ aud: push_audience, email: push_email }))
      return [
        ...shotsAt('POST /store/apple/{app_key}', apps.ios, JSON.stringify({ signedPayload }), {}),
        ...shotsAt('POST /store/google/{app_key}', apps.android, googlePush(), headers),
      ]
    },
    async close() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

function shotsAt(route: string, app_key: string, body: string, headers: Record<string, string>): Shot[] {
  const at = (key: string) => ({ route, path: route.replace('POST ', '').replace('{app_key}', key), headers })
  const stranger = JSON.stringify({ signedPayload: 'e30.e30.c2ln' })
  const unproven = route.includes('apple') ? { ...at(app_key), body: stranger } : { ...at(app_key), headers: {}, body }
  return [
    { ...at(app_key), code: 'ok', body },
    { ...at(`app_live_${'f'.repeat(32)}`), code: 'not_found', body },
    { ...at(app_key), code: 'bad_json', body: '{' },
    { ...unproven, code: 'bad_token' },
    { ...at(app_key), code: 'body_too_large', announced_bytes: limits.store_notification_bytes_max + 1 },
  ]
}
