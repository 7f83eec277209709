import { type ErrorBody, errorCatalogue, rejectReasons } from '@tributary/contracts/errors'
import { type Exchange, patience_ms } from './connection.ts'
import type { FuzzRequest } from './drafts/requests.ts'
import type { HttpAnswer } from './read-answer.ts'

const catalogue = new Map<string, { status: number; surfaces: readonly string[] }>(
  errorCatalogue.map(({ code, ...rest }) => [code, rest]),
)
/** Statuses of answers to a connection without a readable request (service-kit/src/http/refuse-connection.ts). */
const connectionStatuses = [400, 408, 431]

/** The fault of an exchange; null without one. */
export function findFault(request: FuzzRequest, exchange: Exchange): string | null {
  if (exchange.late) return `no answer within ${patience_ms} ms`
  if (exchange.rubbish) return 'what came back is no HTTP answer, or has something behind it'
  for (const answer of exchange.answers) {
    const fault = faultOf(answer, request)
    if (fault !== null) return fault
  }
  if (request.broken) return null
  if (exchange.answers.length === 0) return 'the connection was closed without an answer'
  return request.valid_events === null ? null : faultOfValid(exchange.answers[0]!, request.valid_events)
}

/** Whether the service answered that it is busy, which a slow disk may cause now and then. The run counts these. */
export const isBusy = ({ status, headers, body }: HttpAnswer): boolean =>
  status === 503 && headers.has('retry-after') && (readJson(body) as ErrorBody | undefined)?.error === 'unavailable'

function faultOf(answer: HttpAnswer, { surface, method, broken }: FuzzRequest): string | null {
  const { status, headers, body } = answer
  const request_id = headers.get('x-request-id')
  if (isBusy(answer)) return null
  if (status >= 500) return `answered ${status} ${body}`
  if (!request_id) return `no X-Request-Id with status ${status}`
  if (status < 400 || (body.length === 0 && method === 'HEAD')) return null
  if (!headers.get('content-type')?.startsWith('application/json')) return `status ${status} is no JSON`
  const reply = readJson(body) as ErrorBody | undefined
  if (typeof reply?.error !== 'string') return `status ${status} without a code: ${body}`
  if (reply.request_id !== request_id) return `request_id ${reply.request_id} is not ${request_id}`
  const atConnection = headers.get('connection') === 'close' && reply.error === 'bad_json'
  if (atConnection && connectionStatuses.includes(status)) return null
  const entry = catalogue.get(reply.error)
  if (entry?.status !== status) return `${reply.error} with status ${status} is not in the catalogue`
  const anywhere = surface === null || broken || entry.surfaces.includes('any')
  if (!anywhere && !entry.surfaces.includes(surface)) return `${reply.error} is no code of the surface ${surface}`
  return null
}

function faultOfValid({ status, body }: HttpAnswer, events: number): string | null {
  const { accepted } = (readJson(body) ?? {}) as { accepted?: number }
  return status === 200 && accepted === events ? null : `a valid request was answered ${status} ${body}`
}

/** The fault of the answer to a batch with accepted events; null without one. */
export function findReplyFault(reply: BatchReply, events: readonly unknown[]): string | null {
  const { accepted, rejected, results, audit_key } = reply
  if (results?.length !== events.length) return `${results?.length} results for ${events.length} events`
  const taken = results.filter(({ status }) => status === 'accepted').length
  if (accepted !== taken || rejected !== events.length - taken) return 'accepted and rejected are not those of results'
  const unknown = results.find(({ status, reason = '' }) => status !== 'accepted' && !reasons.includes(reason))
  if (unknown !== undefined) return `a result with the reason ${unknown.reason}`
  return typeof audit_key === 'string' ? null : 'no audit_key'
}

const reasons: readonly string[] = rejectReasons

export interface BatchReply {
  accepted: number
  rejected: number
  results: { event_id: string | null; status: string; reason?: string }[]
  audit_key: string
}

export function readJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}
