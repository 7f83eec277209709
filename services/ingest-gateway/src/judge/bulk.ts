import type { EnvelopeFacts } from '@tributary/contracts/envelope'
import type { RejectReason } from '@tributary/contracts/errors'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { acceptBatch } from '@tributary/domain/accept/accept-batch'
import { isJsonObject } from '@tributary/domain/accept/accept-event'
import { countOnce } from '@tributary/domain/accept/count-once'
import { faultRuleOf } from '@tributary/domain/accept/stated-attribution'
import { closeRecords, openRecords } from '@tributary/gateway/event-records'
import { type PackedRecords, packRecords } from '@tributary/gateway/packed-records'
import { auditHead } from '@tributary/gateway/request-facts'
import type { GeoTables } from '@tributary/geo/geo'
import { mintEventId } from '../s2s/s2s-event-id.ts'
import { auditObject } from './audit-object.ts'
import { closeReply, openReply } from './batch-reply.ts'
import { createDeviceCountry } from './device-country.ts'
import { bodyBytes } from './read-body.ts'
import { readJsonObject } from './read-json-object.ts'
import { type KeyRules, requireKeyFits } from './s2s-rules.ts'

export interface BulkInput {
  facts: EnvelopeFacts
  partitions: number
  key: KeyRules
  geo: GeoTables
  /** Key of the object that will hold the request. */
  audit_key: string
}

/** A batch of `/s2s/events/bulk`. */
export interface JudgedBulk {
  accepted: number
  /** Events that count toward the quota. */
  counted: number
  rejected: ReadonlyMap<RejectReason, number>
  /** See `bodyBytes`. */
  body_bytes: number
  records: PackedRecords
  /** Content of the audit object. */
  object: Buffer
  answer: string
}

/** Throws `bad_json`, `too_many_events`, `s2s_app_platform_mismatch` and `event_not_allowed_by_key`. */
export function judgeBulk(
  body: Buffer,
  wire: Buffer,
  { facts, partitions, key, geo, audit_key }: BulkInput,
): JudgedBulk {
  const events = readEvents(readJsonObject(body))
  requireKeyFits(events, key)
  const { received_at_ms, states_attribution } = facts
  const verdict = acceptBatch(events, 'bulk', received_at_ms, () => mintEventId(received_at_ms), faultRuleOf(facts))
  const { accepted, rejected, minted } = verdict
  const countryOf = createDeviceCountry(geo)
  const records = openRecords(facts, accepted, partitions, countryOf)
  return {
    accepted: accepted.length,
    counted: countOnce(accepted, received_at_ms),
    rejected,
    body_bytes: bodyBytes(body, wire, records.length),
    records: packRecords(topics.eventsAccepted.name, closeRecords(records, audit_key)),
    object: auditObject(
      auditHead(facts, { minted_event_ids: minted, ...knownCountries(events, countryOf), states_attribution }),
      body,
    ),
    answer: closeReply(openReply(verdict), audit_key),
  }
}

/** The known countries by the index of the event, for the audit object: a replay looks up none. */
function knownCountries(events: readonly unknown[], countryOf: ReturnType<typeof createDeviceCountry>) {
  const known = events.flatMap((event, index) => {
    const country = isJsonObject(event) ? countryOf(event) : ''
    return country === '' ? [] : [[index, country] as const]
  })
  return known.length === 0 ? {} : { countries: Object.fromEntries(known) }
}

function readEvents({ events }: Record<string, unknown>): readonly unknown[] {
  if (!Array.isArray(events) || events.length === 0) {
    throw new CodedError('bad_json', { field: 'events', message: '`events` is an array of at least one event.' })
  }
  if (events.length > limits.bulk_events_max) throw new CodedError('too_many_events')
  return events
}
