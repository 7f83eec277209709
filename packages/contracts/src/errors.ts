import { limits } from './limits.ts'

/** The group of routes that answers an error; the same cause may have another code on another surface (docs/rules.md#errors). */
export type Surface = 'sdk' | 's2s' | 'reports' | 'admin' | 'links' | 'postbacks' | 'any'

/** The error catalogue: code, HTTP status, surfaces. A test holds docs/errors.md equal to it. */
export const errorCatalogue = [
  { code: 'missing_auth_headers', status: 400, surfaces: ['sdk'] },
  { code: 'empty_body', status: 400, surfaces: ['sdk'] },
  { code: 'bad_json', status: 400, surfaces: ['sdk', 's2s', 'admin', 'postbacks'] },
  { code: 'bad_jws', status: 400, surfaces: ['postbacks'] },
  { code: 'bad_token', status: 401, surfaces: ['postbacks'] },
  { code: 'bad_batch_shape', status: 400, surfaces: ['sdk', 's2s', 'admin'] },
  { code: 'request_timeout', status: 408, surfaces: ['sdk', 's2s', 'postbacks'] },
  { code: 'bad_gzip', status: 400, surfaces: ['sdk', 's2s'] },
  { code: 'unknown_app_key', status: 401, surfaces: ['sdk'] },
  { code: 'unknown_company_key', status: 401, surfaces: ['sdk'] },
  { code: 'company_suspended', status: 401, surfaces: ['sdk', 's2s', 'reports'] },
  { code: 'app_company_mismatch', status: 401, surfaces: ['sdk'] },
  { code: 'bad_signature', status: 401, surfaces: ['sdk'] },
  { code: 'body_too_large', status: 413, surfaces: ['sdk', 's2s', 'admin', 'postbacks'] },
  { code: 'decompressed_too_large', status: 413, surfaces: ['sdk'] },
  { code: 'cap_exceeded', status: 429, surfaces: ['sdk', 's2s'] },
  { code: 'audit_write_failed', status: 503, surfaces: ['sdk', 's2s', 'postbacks'] },
  { code: 'unsupported_encoding', status: 415, surfaces: ['sdk', 's2s'] },
  { code: 'install_uuid_required', status: 400, surfaces: ['s2s', 'sdk'] },
  { code: 'event_ts_ms_required', status: 400, surfaces: ['s2s'] },
  { code: 'event_name_required', status: 400, surfaces: ['s2s'] },
  { code: 'event_ts_ms_out_of_range', status: 400, surfaces: ['s2s'] },
  { code: 'bad_event_id', status: 400, surfaces: ['s2s'] },
  { code: 'invalid_field', status: 400, surfaces: ['s2s', 'sdk', 'reports', 'admin'] },
  { code: 's2s_app_platform_mismatch', status: 400, surfaces: ['s2s'] },
  { code: 'too_many_events', status: 400, surfaces: ['s2s'] },
  { code: 'too_many_costs', status: 400, surfaces: ['s2s', 'admin'] },
  { code: 'missing_bearer_token', status: 401, surfaces: ['s2s', 'reports', 'admin'] },
  { code: 'unknown_or_revoked_key', status: 401, surfaces: ['s2s'] },
  { code: 'event_not_allowed_by_key', status: 403, surfaces: ['s2s'] },
  { code: 'scope_missing', status: 403, surfaces: ['s2s', 'reports'] },
  { code: 'rate_limited', status: 429, surfaces: ['sdk', 's2s', 'reports', 'admin', 'postbacks'] },
  { code: 'busy', status: 429, surfaces: ['reports', 'admin'] },
  { code: 'unknown_parameter', status: 400, surfaces: ['reports', 'admin'] },
  { code: 'invalid_since_until', status: 400, surfaces: ['reports', 'admin'] },
  { code: 'since_ms_must_be_less_than_until_ms', status: 400, surfaces: ['reports', 'admin'] },
  { code: 'clicks_expired', status: 400, surfaces: ['admin'] },
  { code: 'window_too_large', status: 400, surfaces: ['reports', 'admin'] },
  { code: 'invalid_limit', status: 400, surfaces: ['reports', 'admin'] },
  { code: 'invalid_offset', status: 400, surfaces: ['reports', 'admin'] },
  { code: 'too_many_rows', status: 400, surfaces: ['reports', 'admin'] },
  { code: 'invalid_or_revoked_key', status: 401, surfaces: ['reports'] },
  { code: 'unknown_report', status: 404, surfaces: ['reports', 'admin'] },
  { code: 'unknown_install', status: 404, surfaces: ['reports', 'admin'] },
  { code: 'invalid_admin_token', status: 401, surfaces: ['admin'] },
  { code: 'sign_in_failed', status: 401, surfaces: ['admin'] },
  { code: 'sign_in_required', status: 401, surfaces: ['admin'] },
  { code: 'session_ended', status: 401, surfaces: ['admin'] },
  { code: 'wrong_code', status: 401, surfaces: ['admin'] },
  { code: 'insecure_address', status: 403, surfaces: ['admin'] },
  { code: 'forged_request', status: 403, surfaces: ['admin'] },
  { code: 'password_sign_in_off', status: 403, surfaces: ['admin'] },
  { code: 'oidc_failed', status: 401, surfaces: ['admin'] },
  { code: 'oidc_email_refused', status: 403, surfaces: ['admin'] },
  { code: 'oidc_no_role', status: 403, surfaces: ['admin'] },
  { code: 'oidc_off', status: 404, surfaces: ['admin'] },
  { code: 'oidc_not_linked', status: 409, surfaces: ['admin'] },
  { code: 'oidc_taken', status: 409, surfaces: ['admin'] },
  { code: 'oidc_unavailable', status: 503, surfaces: ['admin'] },
  { code: 'mail_failed', status: 503, surfaces: ['admin'] },
  { code: 'password_needed', status: 403, surfaces: ['admin'] },
  { code: 'unknown_one_time_link', status: 404, surfaces: ['admin'] },
  { code: 'unknown_person', status: 404, surfaces: ['admin'] },
  { code: 'unknown_session', status: 404, surfaces: ['admin'] },
  { code: 'last_of_role', status: 409, surfaces: ['admin'] },
  { code: 'bad_csv', status: 400, surfaces: ['admin'] },
  { code: 'unknown_company', status: 404, surfaces: ['admin'] },
  { code: 'unknown_app', status: 404, surfaces: ['admin'] },
  { code: 'unknown_key', status: 404, surfaces: ['admin'] },
  { code: 'unknown_link', status: 404, surfaces: ['admin'] },
  { code: 'unknown_partner', status: 404, surfaces: ['admin'] },
  { code: 'unknown_audit_key', status: 404, surfaces: ['admin'] },
  { code: 'unknown_erasure', status: 404, surfaces: ['admin'] },
  { code: 'unknown_cv_schema', status: 404, surfaces: ['admin'] },
  { code: 'store_id_taken', status: 409, surfaces: ['admin'] },
  { code: 'reconcile_running', status: 409, surfaces: ['admin'] },
  { code: 'replay_running', status: 409, surfaces: ['admin'] },
  { code: 'method_not_allowed', status: 405, surfaces: ['any'] },
  { code: 'uri_too_long', status: 414, surfaces: ['any'] },
  { code: 'not_found', status: 404, surfaces: ['any'] },
  { code: 'internal_error', status: 500, surfaces: ['any'] },
  { code: 'unavailable', status: 503, surfaces: ['any'] },
] as const satisfies ReadonlyArray<{ code: string; status: number; surfaces: readonly Surface[] }>

export type ErrorCode = (typeof errorCatalogue)[number]['code']

/** Why one event of a batch was rejected (`reason` of a per-event result). */
export const rejectReasons = [
  'bad_event_id',
  'missing_required_fields',
  'invalid_field',
  'event_ts_ms_out_of_range',
] as const
export type RejectReason = (typeof rejectReasons)[number]

const statusOf = new Map<string, number>(errorCatalogue.map((entry) => [entry.code, entry.status]))

/** The headers of a refusal that ends in a moment. */
export const retrySoon = { 'retry-after': String(limits.retry_soon_s) }

/** Body of every error answer. `error` is the contract; `message` is for people. */
export interface ErrorBody {
  error: ErrorCode
  field?: string
  message?: string
  request_id: string
}

/** An error with a code of the catalogue. The client gets code, status, field, headers and message, never the cause. */
export class CodedError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly field: string | undefined
  readonly headers: Record<string, string>

  constructor(
    code: ErrorCode,
    options: { field?: string; message?: string; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(options.message ?? '', options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'CodedError'
    this.code = code
    this.status = statusOf.get(code) ?? 500
    this.field = options.field
    this.headers = options.headers ?? {}
  }
}

/** The refusal of a request above a rate, with the time until one more is allowed: whole seconds, at least 1. */
export const rateLimited = (wait_ms: number): CodedError =>
  new CodedError('rate_limited', { headers: { 'retry-after': String(Math.max(1, Math.ceil(wait_ms / 1000))) } })

/** The code for a path that cannot be decoded and therefore has no route. Below the path of reports it is that of an unknown report. */
export const unroutedCode = (url: string): ErrorCode =>
  url.startsWith('/api/v1/reports/') ? 'unknown_report' : 'not_found'
