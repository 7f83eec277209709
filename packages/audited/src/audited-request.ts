import type { EnvelopeFacts, RequestSource } from '@tributary/contracts/envelope'
import { acceptBatch, type BatchVerdict } from '@tributary/domain/accept/accept-batch'
import { type AcceptedEvent, cutReceipt, isJsonObject } from '@tributary/domain/accept/accept-event'
import { toSdkBatch } from '@tributary/domain/accept/sdk-batch'
import { faultRuleOf } from '@tributary/domain/accept/stated-attribution'
import { byInstallAndCountry } from '@tributary/gateway/shared-envelopes'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import { z } from 'zod'
import type { ReadEnvelope } from './missing-events.ts'
import type { Reading } from './reading.ts'

/** The head that the gateway writes before a body, and the body. */
const AuditedRequest = z.object({
  received_at_ms: z.number().int(),
  ip: z.string(),
  headers: z.object({ 'user-agent': z.string(), 'x-service-sdk': z.string(), 'x-service-platform': z.string() }),
  body: z.record(z.string(), z.unknown()),
  /** Id of a single backend event; minted where the body has none. */
  event_id: z.string().optional(),
  body_sha256: z.string().optional(),
  /** Of the sender, or of the device of a single backend event. Absent where it was unknown, or where its gateway looked up none: a replay never does. */
  country: z.string().optional(),
  /** The same for the events of a bulk request, by their index; the others have none. */
  countries: z.record(z.string(), z.string()).optional(),
  /** Ids of a bulk request by the index of the event. */
  minted_event_ids: z.record(z.string(), z.string()).optional(),
  /** See the envelope. */
  states_attribution: z.literal(true).optional(),
})
export type AuditedRequest = z.infer<typeof AuditedRequest>

/** The request in a line or an object. Throws for anything else. */
export const readRequest = (json: Buffer): AuditedRequest => AuditedRequest.parse(JSON.parse(json.toString('utf8')))

export interface RequestOrigin extends AppFacts {
  app_id: string
  source: RequestSource
  audit_key: string
}

/**
 * The envelopes that the gateway made of a request: the same rules at the original time, so that what was rejected
 * then is rejected now. Platform rule, allow-list and quota refuse whole requests before they are audited.
 */
export function toEnvelopes(request: AuditedRequest, origin: RequestOrigin, reading: Reading): ReadEnvelope[] {
  const { received_at_ms, ip, headers, country, states_attribution } = request
  const { app_id, company_id, platform, source, audit_key } = origin
  const facts: EnvelopeFacts = {
    ...{ v: 1, company_id, app_id, platform, source, received_at_ms, ip },
    ...(states_attribution && { states_attribution }),
    user_agent: headers['user-agent'],
    sdk: headers['x-service-sdk'],
    sdk_platform: headers['x-service-platform'],
    ...(country !== undefined && { country }),
  }
  const accepted = acceptedBy[source](request, reading)
  const { countryOf, minted, sent } = accepted
  const envelopes = byInstallAndCountry(accepted.events, countryOf ?? (() => ''))
  return envelopes.map(({ country, ...own }) => ({
    envelope: { ...facts, ...sent, ...(countryOf && { country }), ...own, audit_key },
    minted,
  }))
}

interface Accepted {
  events: AcceptedEvent[]
  sent?: { sent_at_ms: number }
  minted: ReadonlySet<string>
  /** Present where the countries of events may differ. */
  countryOf?: (event: AcceptedEvent) => string
}

const none: ReadonlySet<string> = new Set()

const acceptedBy: Record<RequestSource, (request: AuditedRequest, reading: Reading) => Accepted> = {
  sdk({ body, received_at_ms }, reading) {
    const { events, sent_at_ms } = toSdkBatch(body)
    const verdict = acceptBatch(events, 'sdk', received_at_ms, noId)
    return {
      events: withIds(verdict, reading),
      ...(sent_at_ms === undefined ? {} : { sent: { sent_at_ms } }),
      minted: none,
    }
  },
  bulk({ body, received_at_ms, minted_event_ids = {}, countries, ...request }, reading) {
    const events = Array.isArray(body.events) ? body.events : []
    const withMinted = events.map((event: unknown, index) => {
      const event_id = minted_event_ids[index]
      return event_id !== undefined && isJsonObject(event) ? { ...event, event_id } : event
    })
    const verdict = acceptBatch(withMinted, 'bulk', received_at_ms, noId, faultRuleOf(request))
    const indexes = new Map(withMinted.map((event, index) => [event, index]))
    return {
      events: withIds(verdict, reading),
      minted: new Set(Object.values(minted_event_ids)),
      ...(countries && { countryOf: (event) => countries[indexes.get(event)!] ?? '' }),
    }
  },
  s2s({ body, received_at_ms, event_id, ...request }, reading) {
    const own = typeof body.event_id === 'string'
    const event = own ? body : { ...body, event_id }
    if (event_id === undefined && !own) reading.doubt('without_id')
    else if (faultRuleOf(request)(event, 's2s', received_at_ms) !== null) reading.doubt('refused_now')
    else return { events: [cutReceipt(event as AcceptedEvent)], minted: own ? none : new Set([event_id!]) }
    return { events: [], minted: none }
  },
}

/** Stands for the id of an event that nobody knows any more. */
const noId = () => ''

function withIds({ accepted }: BatchVerdict, reading: Reading): AcceptedEvent[] {
  const known = accepted.filter(({ event_id }) => event_id !== '')
  reading.doubt('without_id', accepted.length - known.length)
  return known
}
