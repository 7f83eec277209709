import { limits } from '@tributary/contracts/limits'
import type { FastifyRequest } from 'fastify'

/** The facts of a request that are stored with its events and in its audit line; headers are cut to a bounded length. */
export interface RequestFacts {
  received_at_ms: number
  ip: string
  user_agent: string
  sdk: string
  sdk_platform: string
}

export function requestFacts(request: FastifyRequest, received_at_ms: number): RequestFacts {
  const { headers } = request
  return {
    received_at_ms,
    ip: request.client_ip,
    user_agent: headerText(headers['user-agent'], limits.stored_header_chars_max),
    sdk: headerText(headers['x-service-sdk'], limits.stored_sdk_chars_max),
    sdk_platform: headerText(headers['x-service-platform'], limits.stored_sdk_chars_max),
  }
}

const headerText = (value: string | string[] | undefined, chars_max: number): string =>
  typeof value === 'string' ? value.slice(0, chars_max) : ''

/** Line up to and including `"body":`; the body's bytes and a `}` follow. Keys are those of their headers. */
export function auditHead(facts: RequestFacts, more: Record<string, unknown> = {}): string {
  const { received_at_ms, ip, user_agent, sdk, sdk_platform } = facts
  const headers = { 'user-agent': user_agent, 'x-service-sdk': sdk, 'x-service-platform': sdk_platform }
  return `${JSON.stringify({ ...more, received_at_ms, ip, headers }).slice(0, -1)},"body":`
}
