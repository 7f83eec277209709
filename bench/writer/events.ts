import { randomBytes } from 'node:crypto'
import type { Envelope } from '@tributary/contracts/envelope'
import { day_ms } from '@tributary/contracts/limits'

export const events_per_envelope = 20

/** The form of a run of events. `seed` separates the events of two runs. */
export interface EventLoad {
  app_id: string
  seed: string
  /** Event times spread over this many days before `until_ms`, in no order. 1: all on one day. */
  days: number
  until_ms: number
}

export const newAppId = (): string => `app_${randomBytes(10).toString('hex')}`

/** The envelope number `n` of a load: 20 events of about 500 B of one install. */
export function envelopeOf({ app_id, seed, days, until_ms }: EventLoad, n: number): Envelope {
  const install_uuid = `0190a7c2-5e3b-7cc4-9d1f-${(n % 100_000).toString(16).padStart(12, '0')}`
  return {
    v: 1,
    company_id: 'co_0123456789abcdef0123',
    app_id,
    platform: 'android',
    source: 'sdk',
    install_uuid,
    received_at_ms: until_ms,
    sent_at_ms: until_ms - 120,
    ip: `203.0.113.${n % 256}`,
    user_agent: 'UnityPlayer/6000.0.23f1 (UnityWebRequest/1.0, libcurl/8.5.0-DEV)',
    sdk: 'unity-2.1.0',
    sdk_platform: 'android',
    audit_key: `audit/2026/03/01/co_0123456789abcdef0123/${app_id}/${until_ms}-bench-${n}.jsonl.gz`,
    events: Array.from({ length: events_per_envelope }, (_, i) => {
      const number = n * events_per_envelope + i
      const money = number % 20 === 0
      return {
        event_id: `${seed}-${number.toString(36).padStart(8, '0')}`,
        event_name: money ? 'purchase' : `level_${number % 30}`,
        // Steps of a prime number of days, so that neighbours in the log are far apart in time.
        event_ts_ms: until_ms - ((number * 149) % days) * day_ms - (number % 3_600_000),
        install_uuid,
        user_id: `player-${n % 100_000}`,
        ...(money && {
          revenue: 4.99,
          currency: 'EUR',
          product_id: 'gems_500',
          transaction_id: `GPA.${seed}-${number}`,
        }),
        props: {
          level: number % 100,
          score: number * 7,
          mode: 'ranked',
          duration_s: 182.5,
          items: ['sword', 'shield', 'potion'],
          session: { id: `${seed}-${n}`, started_ms: until_ms - 600_000, foreground: true },
          build: '1.42.0 (8812)',
        },
        device: { os: 'android', os_version: '14', model: 'Pixel 8 Pro', locale: 'de-DE', memory_mb: 11_842 },
      }
    }),
  }
}
