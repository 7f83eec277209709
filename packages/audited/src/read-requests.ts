import type { AuditStore, StoredObject } from '@tributary/audit-store/audit-store'
import { objectLines } from '@tributary/audit-store/object-lines'
import { readAhead } from '@tributary/audit-store/read-ahead'
import type { RequestSource } from '@tributary/contracts/envelope'
import { serverEventAuditKeys } from '@tributary/domain/audit-name'
import type { Pause } from '@tributary/service-kit/service/pauses'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import { type AuditedRequest, readRequest, toEnvelopes } from './audited-request.ts'
import type { ReadEnvelope } from './missing-events.ts'
import type { Reading } from './reading.ts'

interface ReadRequestsDeps {
  audit: Pick<AuditStore, 'get'>
  reading: Reading
  pause: Pause
}

/** An object as the store lists it. */
type Unread = Pick<StoredObject, 'key' | 'read'>

/** Objects of one app that came the same way. */
export interface RequestObjects {
  app: AppFacts & { app_id: string }
  source: RequestSource
  objects: AsyncIterable<Unread> | Iterable<Unread>
}

/** A request with its accepted events. */
export interface ReadRequest {
  received_at_ms: number
  envelopes: ReadEnvelope[]
  /** Events that it was sent with, accepted or not. */
  sent: number
  /** Bytes that were read. */
  size: number
}

/** Objects that are fetched at the same time; each is of a few MiB at most. */
const objects_ahead = 8

/**
 * The requests in some audit objects for which `isChosen` holds by their time of receipt and their object, one by one. What can't be read is counted as
 * a doubt: an object gives what stands before the fault.
 */
export async function* readRequests(
  deps: ReadRequestsDeps,
  { app, source, objects }: RequestObjects,
  isChosen: (received_at_ms: number, key: string | null) => boolean,
): AsyncGenerator<ReadRequest> {
  const { pause, reading } = deps
  const fetched = readAhead(objects, objects_ahead, async ({ key, read }) => ({ key, content: await read() }))
  for await (const { key, content } of fetched) {
    const found = readObject(deps, { source, key, content, app_id: app.app_id })
    for await (const { request, audit_key, size } of found) {
      await pause()
      const { received_at_ms } = request
      if (!isChosen(received_at_ms, key)) continue
      try {
        const envelopes = toEnvelopes(request, { ...app, source, audit_key }, reading)
        yield { received_at_ms, envelopes, sent: source === 's2s' ? 1 : countOf(request.body.events), size }
      } catch {
        reading.doubt('unreadable_object', 1, key)
      }
    }
  }
}

const countOf = (events: unknown): number => (Array.isArray(events) ? events.length : 0)

interface Fetched {
  source: RequestSource
  key: string | null
  content: Buffer | null
  app_id: string
}

/** The requests in one object, up to the first that is none. */
async function* readObject(
  { audit, reading }: ReadRequestsDeps,
  { source, key, content, app_id }: Fetched,
): AsyncGenerator<{ request: AuditedRequest; audit_key: string; size: number }> {
  if (content === null) return reading.doubt('unreadable_object', 1, key)
  try {
    if (source === 'sdk') {
      for await (const line of objectLines(content)) {
        yield { request: readRequest(line), audit_key: key!, size: line.length }
      }
      return
    }
    const request = readRequest(content)
    const audit_key = key?.slice(app_id.length + 1) ?? (await hashedKey(audit, app_id, request, content))
    yield { request, audit_key, size: content.length }
  } catch (error) {
    if (error instanceof StoreAway) throw error.cause
    reading.doubt('unreadable_object', 1, key)
  }
}

class StoreAway extends Error {}

/** The audit key of a backend event whose name was too long for the store: one of two, and their objects differ. */
async function hashedKey(
  audit: Pick<AuditStore, 'get'>,
  app_id: string,
  { received_at_ms, event_id = '', body_sha256 = '' }: AuditedRequest,
  content: Buffer,
): Promise<string> {
  for (const audit_key of serverEventAuditKeys({ received_at_ms, event_id, body_sha256 })) {
    const stored = await audit.get(`${app_id}/${audit_key}`).catch((cause: unknown) => {
      throw new StoreAway('the audit store is away', { cause })
    })
    if (stored?.equals(content)) return audit_key
  }
  throw new Error('the object lies under a name that is not its own')
}
