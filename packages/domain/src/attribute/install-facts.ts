import {
  type AliasFact,
  aliasEvent,
  type Fact,
  type InstallFact,
  installEvents,
  type Place,
} from '@tributary/contracts/attribution/found'
import type { Envelope } from '@tributary/contracts/envelope'
import { installTime } from '../install-time.ts'
import { readClickToken } from './click-token.ts'
import { deviceHashes } from './device-ids.ts'
import { tokenOfReferrer } from './play-referrer.ts'

type ReceivedEvent = Envelope['events'][number]

export interface TenantSecrets {
  /** Signs click ids of the app. */
  link_secret: Buffer
  /** Of the company: keys the hashes of device ids. */
  salt: Buffer
}

/** What an event shows; null for other events, and for an install that a migration of identities fired again. */
export function findFact(envelope: Envelope, event: ReceivedEvent, place: Place, secrets: TenantSecrets): Fact | null {
  const { company_id, app_id, install_uuid, received_at_ms } = envelope
  const shared = { v: 1 as const, company_id, app_id, install_uuid, received_at_ms, place }
  const user_id = textOf(event.user_id)
  if (event.event_name === aliasEvent) {
    return user_id === null ? null : ({ kind: 'alias', ...shared, user_id } satisfies AliasFact)
  }
  const event_name = installEvents.find((name) => name === event.event_name)
  const props = fieldsOf(event.props)
  if (event_name === undefined || props.identity_migration === true) return null
  return { kind: 'install', ...shared, event_name, user_id, ...installClues(envelope, event, secrets) }
}

type Clues = Omit<
  InstallFact,
  'kind' | 'v' | 'company_id' | 'app_id' | 'install_uuid' | 'received_at_ms' | 'place' | 'event_name' | 'user_id'
>

function installClues(envelope: Envelope, event: ReceivedEvent, { link_secret, salt }: TenantSecrets): Clues {
  const { source, platform, received_at_ms, sent_at_ms = 0 } = envelope
  const props = fieldsOf(event.props)
  const device = fieldsOf(event.device)
  const is_sdk = source === 'sdk'
  const ts_ms = typeof event.event_ts_ms === 'number' ? event.event_ts_ms : received_at_ms
  const token = (text: string | null) => (text === null ? null : readClickToken(text, link_secret))
  const referrer = textOf(props.install_referrer)
  return {
    is_sdk,
    platform,
    installed_at_ms: installTime({ source, ts_ms, received_at_ms, sent_at_ms }),
    ip: is_sdk ? envelope.ip : textOf(device.ip),
    os_major: majorVersion(device.os_version),
    model: textOf(device.model),
    device_hashes: deviceHashes(device, salt),
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
