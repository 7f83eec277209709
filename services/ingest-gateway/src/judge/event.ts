import { hash } from 'node:crypto'
import type { EnvelopeFacts } from '@tributary/contracts/envelope'
import { CodedError, type ErrorCode } from '@tributary/contracts/errors'
import { type AcceptedEvent, cutReceipt, type EventFault } from '@tributary/domain/accept/accept-event'
import { faultMessage } from '@tributary/domain/accept/fault-message'
import { faultRuleOf } from '@tributary/domain/accept/stated-attribution'
import { type OpenRecord, openRecords } from '@tributary/gateway/event-records'
import { auditHead } from '@tributary/gateway/request-facts'
import type { GeoTables } from '@tributary/geo/geo'
import { mintEventId } from '../s2s/s2s-event-id.ts'
import { auditObject } from './audit-object.ts'
import { createDeviceCountry, knownCountry } from './device-country.ts'
import { bodyBytes } from './read-body.ts'
import { readJsonObject } from './read-json-object.ts'
import { type KeyRules, requireKeyFits } from './s2s-rules.ts'

export interface EventInput {
  facts: EnvelopeFacts
  partitions: number
  key: KeyRules
  geo: GeoTables
}

/** An event of `/s2s/event`. */
export interface JudgedEvent {
  event_id: string
  /** See `bodyBytes`. */
  body_bytes: number
  /** Content of the audit object. */
  object: Buffer
  body_sha256: string
  /** See `closeRecords`. */
  open: OpenRecord[]
}

/** Throws `bad_json`, `s2s_app_platform_mismatch`, `event_not_allowed_by_key`, `*_required`, and the event's own fault. */
export function judgeEvent(body: Buffer, wire: Buffer, { facts, partitions, key, geo }: EventInput): JudgedEvent {
  const { states_attribution } = facts
  const value = readJsonObject(body)
  requireKeyFits([value], key)
  const fault = faultRuleOf(facts)(value, 's2s', facts.received_at_ms)
  if (fault) throw toCodedError(fault, faultMessage(fault, value))
  const event_id = (value.event_id as string | null | undefined) ?? mintEventId(facts.received_at_ms)
  const body_sha256 = hash('sha256', body)
  const event = cutReceipt({ ...value, event_id } as AcceptedEvent)
  const country = createDeviceCountry(geo)(event)
  return {
    event_id,
    body_bytes: bodyBytes(body, wire, 1),
    body_sha256,
    object: auditObject(
      auditHead(facts, { body_sha256, event_id, ...knownCountry(country), states_attribution }),
      body,
    ),
    open: openRecords({ ...facts, country }, [event], partitions),
  }
}

const requiredCodes: Record<string, ErrorCode> = {
  install_uuid: 'install_uuid_required',
  event_ts_ms: 'event_ts_ms_required',
  event_name: 'event_name_required',
}

const toCodedError = ({ reason, field }: EventFault, message: string): CodedError =>
  reason === 'missing_required_fields'
    ? new CodedError(requiredCodes[field ?? ''] ?? 'bad_json', { field, message })
    : new CodedError(reason, { field, message })
