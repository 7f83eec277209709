import { CliError, usageError } from './errors.ts'

/** How long one request may take, connecting and reading the answer included. */
const request_timeout_ms = 60_000

export interface Answer {
  status: number
  headers: Headers
  /** The parsed JSON, undefined when the body is none. */
  body: unknown
}

export interface Question {
  method?: string
  headers?: Record<string, string>
  body?: string | Buffer
  signal?: AbortSignal
}

/** One request. Every answer resolves, whatever its status; a service that can't be reached is CliError `unavailable`. */
export async function request(url: string, { method, headers, body, signal }: Question = {}): Promise<Answer> {
  const timeout = AbortSignal.timeout(request_timeout_ms)
  const sent = headersOf({ 'user-agent': 'tributary-cli/0.1.0', ...headers })
  try {
    const response = await fetch(url, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: sent,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : new Uint8Array(body) }),
      redirect: 'manual',
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    })
    return { status: response.status, headers: response.headers, body: parse(await response.text()) }
  } catch (error) {
    throw new CliError(
      'unavailable',
      `No answer from ${new URL(url).origin} (${causeOf(error)}). Is the service running?`,
    )
  }
}

function headersOf(values: Record<string, string>): Headers {
  try {
    return new Headers(values)
  } catch {
    throw usageError('A key or token holds characters that no header can carry.')
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown cause'
  const cause = error.cause as { code?: unknown } | undefined
  if (error.name === 'TimeoutError') return `nothing within ${request_timeout_ms / 1000} seconds`
  return typeof cause?.code === 'string' ? cause.code : error.message
}

/** The `error`, `field` and `message` of an error answer; empty for a body that is not ours. */
export function errorOf(answer: Answer): { code?: string; field?: string; message?: string } {
  const body = answer.body as Record<string, unknown> | null | undefined
  const text = (name: string) => (typeof body?.[name] === 'string' ? { [name]: body[name] } : {})
  const { error: code, ...rest } = { ...text('error'), ...text('field'), ...text('message') } as Record<string, string>
  return { ...rest, ...(code === undefined ? {} : { code }) }
}

/** The CliError that an error answer becomes. */
export function refusal(answer: Answer): CliError {
  const { code, field, message } = errorOf(answer)
  const at = field === undefined ? '' : ` (${field})`
  const words = message || explained[code ?? ''] || `The service answered ${answer.status}`
  return new CliError(code ?? 'unexpected_answer', `${words}${at}`)
}

const explained: Record<string, string> = {
  invalid_admin_token: 'The admin token is wrong: check TRIBUTARY_ADMIN_TOKEN or the data folder.',
  unknown_or_revoked_key: 'The server key is unknown or revoked.',
  invalid_or_revoked_key: 'The server key is unknown or revoked.',
  company_suspended: 'The company of this key is suspended.',
  bad_signature: 'The signing secret does not belong to this app key.',
  cap_exceeded: 'The monthly quota of the company is used up.',
  unknown_company: 'There is no such company.',
  unknown_app: 'There is no such app.',
  unknown_key: 'There is no such key.',
}
