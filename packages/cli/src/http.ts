import { type Answer, errorOf, sendRequest, unreadFetch } from '@tributary/client/http'
import { TributaryError } from '@tributary/client/tributary-error'
import { otherAddress, readConfig } from './config.ts'
import { CliError, usageError } from './errors.ts'

export type { Answer }

/** Timeout and user agent of every request. The timeout includes connecting and reading the answer. */
export const requestDefaults = { timeout_ms: 60_000, headers: { 'user-agent': 'tributary-cli/0.1.0' } }

export interface RequestOptions {
  method?: string
  headers?: Record<string, string>
  body?: string | Uint8Array<ArrayBuffer>
  /** For connecting and reading the answer; that of `requestDefaults` when absent. */
  timeout_ms?: number
}

/** Sends one request. Any answer resolves, whatever its status. Throws CliError `unavailable` for an unreachable service. */
export const request = (url: string, options: RequestOptions = {}): Promise<Answer> => send(url, options)

/** Opens an answer of any size as a stream. Throws CliError for any status but 2xx. */
export async function open(url: string, options: RequestOptions = {}): Promise<Response> {
  const unread = unreadFetch()
  const answer = await send(url, options, unread.fetch)
  const response = unread.opened()
  if (response === undefined) throw refusal(answer)
  return response
}

async function send(url: string, options: RequestOptions, fetch?: typeof globalThis.fetch): Promise<Answer> {
  const headers = headersOf({ ...requestDefaults.headers, ...options.headers })
  return sendRequest(url, { ...requestDefaults, ...options, headers, fetch }).catch(throwCliError)
}

function headersOf(values: Record<string, string>): Headers {
  try {
    return new Headers(values)
  } catch {
    throw usageError('A key or token has characters that are not allowed in a header.')
  }
}

/** Turns an error answer into a CliError. */
export const refusal = (answer: Answer): CliError => toCliError(errorOf(answer))

/** Throws errors of the client as CliErrors, and any other error unchanged. */
export function throwCliError(error: unknown): never {
  throw error instanceof TributaryError ? toCliError(error) : error
}

function toCliError({ code, status, field, message }: TributaryError): CliError {
  if (code === 'bad_options') return usageError(message)
  if (status === 0) return new CliError(code, `${message} ${otherAddress(readConfig()) || 'Is the service running?'}`)
  const words =
    message === code ? (Object.hasOwn(explained, code) ? explained[code]! : `The service answered ${status}`) : message
  const hint = code === 'invalid_admin_token' ? otherAddress(readConfig()) : ''
  return new CliError(code, hint === '' ? words : `${words} ${hint}`, 1, field)
}

/** Why an admin path may answer 404 although it exists. */
export const adminFenceHint =
  'TRIBUTARY_ADMIN_NETWORKS of the service must include this machine, TRIBUTARY_ADMIN_HOSTS must include its own name, and TRIBUTARY_URL must be the address of admin-api or standalone. The log of the service shows what it refused.'

const explained: Record<string, string> = {
  invalid_admin_token: 'The admin token is wrong: check TRIBUTARY_ADMIN_TOKEN or the data folder.',
  unknown_or_revoked_key: 'The server key is unknown or revoked.',
  invalid_or_revoked_key: 'The server key is unknown or revoked.',
  company_suspended: 'The company of this key is suspended.',
  scope_missing: 'The server key lacks the scope for this: see tributary key list.',
  busy: 'Another such answer of this app is on its way, or several of other apps: run the command again later.',
  cap_exceeded: 'The monthly quota of the company is used up.',
  unknown_company: 'No company has this id.',
  unknown_app: 'No app has this id.',
  reconcile_running: 'Somebody else compares now.',
  replay_running: 'Another replay is running.',
  unknown_link: 'No tracking link has this id.',
  unknown_partner: 'The app notifies no partner of this name: see tributary partner list.',
  since_ms_must_be_less_than_until_ms: 'The window is empty: --since has to be before --until.',
  unknown_install: 'The app of this key has no install with this id.',
  unknown_key: 'No server key has this id.',
  unknown_cv_schema: 'The app has published no schema of this version.',
  unknown_erasure:
    'No request for the erasure of this install is known. That of an app is known once the eraser has read it: see tributary status --wait.',
  unknown_audit_key: 'No audit object of this app has this key.',
}
