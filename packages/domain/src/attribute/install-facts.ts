import {
  type AliasFact,
  aliasEvent,
  type Fact,
  type InstallFact,
  installEvents,
  type Place,
} from '@tributary/contracts/attribution/found'
import type { Envelope } from '@tributary/contracts/envelope'
import { limits } from '@tributary/contracts/limits'
import { normalAddress } from '@tributary/contracts/networks'
import { statedAttribution } from '../accept/stated-attribution.ts'
import { datedAt } from '../erasure/is-erased.ts'
import { installTime } from '../install-time.ts'
import { tokenOfReferrer } from '../link/play-referrer.ts'
import { readClickToken } from './click-token.ts'
import { deviceHashes } from './device-ids.ts'

type ReceivedEvent = Envelope['events'][number]
/** The members of an envelope that its events share. */
export type EnvelopeHead = Omit<Envelope, 'v' | 'events'>

export interface TenantSecrets {
  /** Signs click ids of the app. */
  link_secret: Buffer
  /** Salt of the company; it keys the hashes of device ids. */
  salt: Buffer
}

/**
 * The fact in an event; null for other events, and for an install event that a migration of identities sent again. It
 * never throws: a field of a wrong kind counts as absent (docs/rules.md#fields-that-attribution-reads).
 */
export function findFact(
  envelope: EnvelopeHead,
  event: ReceivedEvent,
  place: Place,
  secrets: TenantSecrets,
): Fact | null {
  const { company_id, app_id, install_uuid, received_at_ms } = envelope
  const dated_at_ms = Math.trunc(datedAt({ ...envelope, event_ts_ms: event.event_ts_ms }))
  const shared = {
    ...{ v: 1 as const, company_id, app_id, install_uuid, received_at_ms, place },
    ...(dated_at_ms < received_at_ms && { dated_at_ms }),
  }
  const user_id = textOf(event.user_id)
  if (event.event_name === aliasEvent) {
    return user_id === null ? null : ({ kind: 'alias', ...shared, user_id } satisfies AliasFact)
  }
  const event_name = installEvents.find((name) => name === event.event_name)
  const props = fieldsOf(event.props)
  if (event_name === undefined || props.identity_migration === true) return null
  const stated = envelope.states_attribution ? statedAttribution(event) : null
  return {
    ...{ kind: 'install', ...shared, event_name, user_id },
    ...installClues(envelope, event, secrets),
    ...(stated !== null && { stated }),
  }
}

type Clues = Omit<
  InstallFact,
  | 'kind'
  | 'v'
  | 'company_id'
  | 'app_id'
  | 'install_uuid'
  | 'received_at_ms'
  | 'dated_at_ms'
  | 'place'
  | 'event_name'
  | 'user_id'
>

function installClues(envelope: EnvelopeHead, event: ReceivedEvent, { link_secret, salt }: TenantSecrets): Clues {
  const { source, platform } = envelope
  const props = fieldsOf(event.props)
  const device = fieldsOf(event.device)
  const is_sdk = source === 'sdk'
  const address = is_sdk ? envelope.ip : textOf(device.ip)
  const token = (text: string | null) => (text === null ? null : readClickToken(text, link_secret))
  const referrer = textOf(props.install_referrer)
  return {
    is_sdk,
    platform,
    installed_at_ms: installedAt(envelope, event),
    ...(envelope.country !== undefined && { country: envelope.country }),
    ip: address === null ? null : normalAddress(address),
    os_major: majorVersion(device.os_version),
    model: modelOf(device.model),
    device_hashes: deviceHashes(device, salt),
    referrer: token(referrer === null ? null : tokenOfReferrer(referrer)),
    named_click: token(textOf(props.click_id)),
    referrer_click_server_s: secondsOf(props.referrer_click_server_s),
    install_begin_server_s: secondsOf(props.install_begin_server_s),
  }
}

/** An event without a time has the time of its receipt by our clock; the client's clock does not matter. */
function installedAt({ source, received_at_ms, sent_at_ms = 0 }: EnvelopeHead, { event_ts_ms }: ReceivedEvent): number {
  if (typeof event_ts_ms !== 'number') return received_at_ms
  return installTime({ source, ts_ms: event_ts_ms, received_at_ms, sent_at_ms })
}

/** `17.4.1`, `17` and the number 17 are 17; null for anything else. */
export function majorVersion(version: unknown): number | null {
  const text = typeof version === 'number' ? String(version) : (textOf(version) ?? '')
  const [, major] = /^\s*(\d{1,4})(?:[.\s]|$)/.exec(text) ?? []
  return major === undefined ? null : Number(major)
}

/** The model without the space around it, cut to a bounded length, because people read it and matching compares it. */
const modelOf = (value: unknown): string | null =>
  textOf(textOf(value)?.trim().slice(0, limits.optional_string_chars_max))

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
/**
 * Well-formed text, as tables hold it. Otherwise a text with a lone surrogate would differ from itself when it is read
 * back.
 */
const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value.toWellFormed() : null

/** Digits as text count too, since some wrappers of Play's library pass on nothing else. Play says 0 for unknown. */
function secondsOf(value: unknown): number | null {
  const seconds = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(seconds) && (seconds as number) > 0 ? (seconds as number) : null
}
