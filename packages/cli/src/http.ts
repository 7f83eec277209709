import { type Answer, ask, errorOf } from '@tributary/client/http'
import { TributaryError } from '@tributary/client/tributary-error'
import { CliError, usageError } from './errors.ts'

export type { Answer }

/** Of every request: how long it may take, connecting and reading the answer included, and who asks. */
export const asked = { timeout_ms: 60_000, headers: { 'user-agent': 'tributary-cli/0.1.0' } }

export interface Question {
  method?: string
  headers?: Record<string, string>
  body?: string
  signal?: AbortSignal
}

/** One request. Every answer resolves, whatever its status; a service that can't be reached is CliError `unavailable`. */
export async function request(url: string, question: Question = {}): Promise<Answer> {
  const headers = headersOf({ ...asked.headers, ...question.headers })
  return ask(url, { ...question, headers, timeout_ms: asked.timeout_ms }).catch(throwCliError)
}

/** The answer as it comes, however large; CliError for any status but 2xx. */
export async function open(url: string, { headers, ...question }: Question = {}): Promise<Response> {
  const opened: Response[] = []
  // What answers well is taken out before `ask` reads it into memory; the errors are left to it.
  const take: typeof fetch = async (...sent) => {
    const response = await fetch(...sent)
    if (!response.ok) return response
    opened.push(response)
    return new Response()
  }
  const sent = headersOf({ ...asked.headers, ...headers })
  const answer = await ask(url, { ...question, headers: sent, timeout_ms: asked.timeout_ms, fetch: take }).catch(
    throwCliError,
  )
  const [response] = opened
  if (response === undefined) throw refusal(answer)
  return response
}

function headersOf(values: Record<string, string>): Headers {
  try {
    return new Headers(values)
  } catch {
    throw usageError('A key or token holds characters that no header can carry.')
  }
}

/** The CliError that an error answer becomes. */
export const refusal = (answer: Answer): CliError => toCliError(errorOf(answer))

/** Throws what the client threw as the CliError that a person reads; anything else as it is. */
export function throwCliError(error: unknown): never {
  throw error instanceof TributaryError ? toCliError(error) : error
}

function toCliError({ code, status, field, message }: TributaryError): CliError {
  if (code === 'bad_options') return usageError(message)
  if (status === 0) return new CliError(code, `${message} Is the service running?`)
  const at = field === undefined ? '' : ` (${field})`
  const words = message === code ? (explained[code] ?? `The service answered ${status}`) : message
  return new CliError(code, `${words}${at}`)
}

/** Why an admin path may answer as if nothing was there. */
export const adminFenceHint =
  'The service must know this machine by TRIBUTARY_ADMIN_NETWORKS and its own name by TRIBUTARY_ADMIN_HOSTS, and TRIBUTARY_URL must name admin-api or a standalone. Its log says what it refused.'

const explained: Record<string, string> = {
  invalid_admin_token: 'The admin token is wrong: check TRIBUTARY_ADMIN_TOKEN or the data folder.',
  unknown_or_revoked_key: 'The server key is unknown or revoked.',
  invalid_or_revoked_key: 'The server key is unknown or revoked.',
  company_suspended: 'The company of this key is suspended.',
  bad_signature: 'The signing secret does not belong to this app key.',
  scope_missing: 'The server key lacks the scope for this: see key list.',
  cap_exceeded: 'The monthly quota of the company is used up.',
  unknown_company: 'There is no such company.',
  unknown_app: 'There is no such app.',
  replay_running: 'A replay is running already.',
  unknown_key: 'There is no such key.',
  unknown_audit_key: 'There is no such audit object, or it is of another app.',
}
