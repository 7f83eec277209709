import { createHmac } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { SentEvents } from '@tributary/testing/verify-events'
import { type EventBatch, sentOf } from './events.ts'
import type { FleetTenant } from './tenants.ts'

/** A request that always has the same bytes and event ids. */
export interface FleetRequest {
  path: string
  headers: Record<string, string>
  body: Buffer<ArrayBuffer>
  sent: SentEvents[]
  events: number
}

/** A signed gzip batch to `/event`. */
export function sdkRequest(tenant: FleetTenant, batch: EventBatch): FleetRequest {
  const body = gzipSync(JSON.stringify({ events: batch.events, sent_at_ms: Date.now() }), { level: 1 })
  const headers = { 'content-encoding': 'gzip', ...signed(tenant, body) }
  return { path: '/event', headers, body, sent: [sentOf(tenant.app_id, batch)], events: batch.events.length }
}

const signed = (tenant: FleetTenant, body: Buffer) => ({
  'x-service-company-key': tenant.company_key,
  'x-service-app-key': tenant.app_key,
  'x-service-signature': createHmac('sha256', tenant.signing_secret).update(body).digest('hex'),
})

/** `/s2s/events/bulk` with the events of several installs. */
export function bulkRequest(tenant: FleetTenant, batches: readonly EventBatch[]): FleetRequest {
  const events = batches.flatMap((batch) => batch.events)
  return {
    path: '/s2s/events/bulk',
    headers: { authorization: `Bearer ${tenant.server_key}` },
    body: Buffer.from(JSON.stringify({ events })),
    sent: batches.map((batch) => sentOf(tenant.app_id, batch)),
    events: events.length,
  }
}

/** A signed request for the erasure of an install. */
export function privacyRequest(tenant: FleetTenant, install_uuid: string): FleetRequest {
  const body = Buffer.from(JSON.stringify({ install_uuid }))
  return { path: '/privacy/delete', headers: signed(tenant, body), body, sent: [], events: 0 }
}

/** The answer to a request. */
export interface Answer {
  status: number
  /** The error code of any other answer than 200. */
  error: string | null
  retry_after_s: number | null
}

/** How long a client waits for an answer. */
const patience_ms = 15_000

/** Sends a request once; null without an answer. Throws for a wrong answer, after which clients would retry for ever. */
export async function post(url: string, { path, headers, body, events }: FleetRequest): Promise<Answer | null> {
  const signal = AbortSignal.timeout(patience_ms)
  const got = await fetch(`${url}${path}`, { method: 'POST', headers, body, signal })
    .then(async (answer) => ({ answer, text: await answer.text() }))
    .catch(() => null)
  if (got === null) return null
  const { status } = got.answer
  const { accepted, error = null, queued } = JSON.parse(got.text)
  const isRight =
    status === 200
      ? accepted === events
      : status === 202
        ? queued === true
        : status >= 500 || [408, 429].includes(status)
  if (!isRight) throw new Error(`${path} answered ${status} ${got.text.slice(0, 300)}`)
  return { status, error, retry_after_s: Number(got.answer.headers.get('retry-after')) || null }
}
