import type { KeptRefusal, LiveItem } from '@tributary/contracts/admin/live/live'
import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'
import { findEventFault, isJsonObject } from '@tributary/domain/accept/accept-event'
import { faultMessage } from '@tributary/domain/accept/fault-message'
import { wireBody } from '@tributary/gateway/read-wire'
import { redact } from '@tributary/service-kit/service/redact'
import type { FastifyRequest } from 'fastify'
import { readFirstEvents } from './read-events.ts'

export type FullItem = Required<LiveItem>

/** A request whose answer is out. */
export interface Answered {
  app_id: string
  company_id: string
  request: FastifyRequest
  /** The error that was answered. */
  error: Error | null
  at_ms: number
}

const sources = { '/event': 'sdk', '/s2s/event': 's2s', '/s2s/events/bulk': 'bulk' } as const

/** How many events a request brought, whatever became of them; a request that was refused counts as one. */
export function countOf({ code, accepted, rejected }: FastifyRequest['ingest']): number {
  if (code !== 'ok') return 1
  return rejected.values().reduce((sum, count) => sum + count, accepted)
}

/** Items of a request: it as a whole, or its first events, at most `max`; and the bytes of its body that were read. */
export function readItems(answered: Answered, max: number, mayRead = true): { items: FullItem[]; bytes: number } {
  if (answered.request.ingest.code === 'ok') return eventsOf(answered, max)
  const { item, bytes } = refusalOf(answered, mayRead)
  return { items: [item], bytes }
}

/** The refusal of a whole request. Its body is read only when a signature or a key proves who sent it, and if `mayRead`. */
function refusalOf(answered: Answered, mayRead: boolean): { item: FullItem; bytes: number } {
  const { request, error } = answered
  const { code, proven } = request.ingest
  const single =
    mayRead && request.routeOptions.url === '/s2s/event' && proven ? readBody(request) : { events: [], bytes: 0 }
  const [event] = single.events
  const { field = null, message = '' } = error instanceof CodedError ? error : {}
  const item: FullItem = {
    ...describe(answered, event),
    request_id: proven || request.headers['x-request-id'] !== request.id ? request.id : '', // no text that a stranger chose
    kind: 'refused',
    code,
    field: cut(field),
    message: message === '' ? null : cut(message, limits.live_message_chars_max),
    unproven: !proven,
  }
  return { item, bytes: single.bytes }
}

/** The first events of a request that was answered with 200, the rejected ones first, at most `max`. */
function eventsOf(answered: Answered, max: number): { items: FullItem[]; bytes: number } {
  const { request, at_ms } = answered
  const source = sources[request.routeOptions.url as keyof typeof sources]
  const { events, bytes } = readBody(request)
  const judged = events.map((event) => ({ event, fault: findEventFault(event, source, at_ms) }))
  const wanted = [...judged.filter(({ fault }) => fault), ...judged.filter(({ fault }) => !fault)].slice(0, max)
  const items = wanted.map(({ event, fault }) => {
    const shown = describe(answered, event)
    if (fault === null) return shown
    const { reason: code, field = null } = fault
    return {
      ...shown,
      kind: 'rejected' as const,
      code,
      field: cut(field),
      message: cut(faultMessage(fault, event), limits.live_message_chars_max),
    }
  })
  return { items, bytes }
}

/** What is kept of a refusal for a day: nothing that says of whom it was. */
export function keptOf({
  at_ms,
  route,
  request_id,
  code,
  field,
  message,
  event_name,
  unproven,
}: FullItem): KeptRefusal {
  return { kind: 'kept', at_ms, route, request_id, code, field, message, event_name, unproven }
}

const readBody = (request: FastifyRequest) =>
  readFirstEvents(wireBody(request), request.routeOptions.url === '/s2s/event' ? 'event' : 'batch')

function describe({ request, at_ms }: Answered, event: unknown): FullItem {
  const fields = isJsonObject(event) ? event : {}
  return {
    kind: 'accepted',
    at_ms,
    route: request.routeOptions.url ?? '',
    request_id: request.id,
    ...{ code: null, field: null, message: null, unproven: false },
    event_name: cut(fields.event_name),
    install_uuid: cut(fields.install_uuid),
    event_id: cut(fields.event_id),
    ip: request.client_ip,
    raw: event === undefined ? null : JSON.stringify(redact({ event }).event).slice(0, limits.live_raw_chars_max),
  }
}

const cut = (value: unknown, chars_max: number = limits.event_name_chars_max): string | null =>
  typeof value === 'string' ? value.slice(0, chars_max).toWellFormed() : null
