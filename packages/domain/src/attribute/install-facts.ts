import type { Envelope } from '@tributary/contracts/envelope'
import { installTime } from '../install-time.ts'
import { readClickToken } from './click-token.ts'
import { deviceHashes } from './device-ids.ts'
import { tokenOfReferrer } from './play-referrer.ts'
import type { InstallFacts, Place } from './verdict.ts'

type ReceivedEvent = Envelope['events'][number]

/** Names of events that tell of an install: the second stands in until the first is there. */
export const installEvents = ['app_install', 'app_first_open'] as const
export type InstallEvent = (typeof installEvents)[number]

/** All that an install event tells, device ids and click ids made safe to keep. */
export interface FoundInstall extends InstallFacts {
  event_name: InstallEvent
  is_sdk: boolean
  user_id: string | null
  /** Play's server timestamps, Unix epoch seconds. */
  referrer_click_server_s: number | null
  install_begin_server_s: number | null
}

export interface TenantSecrets {
  /** Signs click ids of the app. */
  link_secret: Buffer
  /** Of the company: keys the hashes of device ids. */
  salt: Buffer
}

/** The install that an event tells of; null for other events, and for one that a migration of identities fired again. */
export function findInstall(
  envelope: Envelope,
  event: ReceivedEvent,
  place: Place,
  { link_secret, salt }: TenantSecrets,
): FoundInstall | null {
  const { source, received_at_ms, sent_at_ms = 0, install_uuid } = envelope
  const event_name = installEvents.find((name) => name === event.event_name)
  const props = fieldsOf(event.props)
  const device = fieldsOf(event.device)
  if (event_name === undefined || props.identity_migration === true) return null
  const is_sdk = source === 'sdk'
  const ts_ms = typeof event.event_ts_ms === 'number' ? event.event_ts_ms : received_at_ms
  const token = (text: string | null) => (text === null ? null : readClickToken(text, link_secret))
  const referrer = textOf(props.install_referrer)
  return {
    event_name,
    is_sdk,
    install_uuid,
    installed_at_ms: installTime({ source, ts_ms, received_at_ms, sent_at_ms }),
    received_at_ms,
    place,
    ip: is_sdk ? envelope.ip : textOf(device.ip),
    os_major: majorVersion(device.os_version),
    model: textOf(device.model),
    device_hashes: deviceHashes(device, salt),
    user_id: textOf(event.user_id),
    referrer: token(referrer === null ? null : tokenOfReferrer(referrer)),
    named_click: token(textOf(props.click_id)),
    referrer_click_server_s: secondsOf(props.referrer_click_server_s),
    install_begin_server_s: secondsOf(props.install_begin_server_s),
  }
}

/** `17.4.1` and `17` are 17; null for anything else. */
export function majorVersion(version: unknown): number | null {
  const [, major] = /^(\d{1,4})(?:\.|$)/.exec(String(version ?? '')) ?? []
  return major === undefined ? null : Number(major)
}

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
const secondsOf = (value: unknown): number | null => (Number.isSafeInteger(value) ? (value as number) : null)
