import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { sign } from '@tributary/testing/builders'

/** The configuration of an SDK. */
export interface DoorApp {
  company_key: string
  app_key: string
  signing_secret: string
}

export interface DoorRequest {
  /** `/event` when absent. */
  path?: string
  app: DoorApp
  headers: Record<string, string>
  body: Buffer
  /** `events_per_batch` when absent. */
  events?: number
}

export const events_per_batch = 50
const names = ['level_up', 'session_start', 'ad_impression', 'add_to_cart', 'purchase', 'tutorial_step']
const models = ['Pixel 8 Pro', 'SM-S921B', 'Redmi Note 13', 'CPH2581']

/** Signed gzip batches as an SDK sends them: 50 events of about 500 bytes of one install, no two alike. */
export function buildRequests(apps: readonly DoorApp[], count: number): DoorRequest[] {
  return Array.from({ length: count }, (_, n) => {
    const app = apps[n % apps.length]!
    const install_uuid = randomUUID()
    const events = Array.from({ length: events_per_batch }, (_, i) => buildEvent(install_uuid, n, i))
    const body = gzipSync(JSON.stringify({ events, sent_at_ms: Date.now() }))
    const headers = {
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      'x-service-sdk': 'unity-2.1.0',
      'x-service-platform': 'android',
      'user-agent': 'UnityPlayer/2022.3 (bench)',
      'x-service-company-key': app.company_key,
      'x-service-app-key': app.app_key,
      'x-service-signature': sign(app.signing_secret, body),
    }
    return { app, headers, body }
  })
}

export function buildEvent(install_uuid: string, n: number, i: number) {
  return {
    event_id: randomUUID(),
    event_name: names[(n + i) % names.length],
    event_ts_ms: Date.now() - 60_000 + i,
    install_uuid,
    user_id: `user-${n * 7919}`,
    props: {
      level: i,
      world: `forest-${(n * 31 + i * 17) % 97}`,
      score: (n * 7919 + i * 104_729) % 1_000_003,
      session_id: randomUUID(),
      ab_group: i % 2 ? 'control' : 'variant',
      quest: `quest-of-the-${names[(n * 13 + i * 5) % names.length]}`,
      first_time: i === 0,
    },
    device: {
      os: 'android',
      os_version: String(11 + (n % 5)),
      model: models[n % models.length],
      locale: 'de-DE',
      app_version: '3.14.1',
      network: 'wifi',
    },
  }
}
