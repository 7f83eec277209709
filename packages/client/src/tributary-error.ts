export interface TributaryErrorDetails {
  /** HTTP status, 0 when there was no answer. */
  status: number
  field?: string | undefined
  request_id?: string | undefined
  /** The wait that `Retry-After` requests. */
  retry_after_ms?: number | undefined
  message?: string | undefined
  cause?: unknown
}

/**
 * Why a request failed. `code` comes from the service (docs/errors.md) or from the client itself: `unavailable` (no
 * answer, status 0), `unexpected_answer` (not the service's shape), `bad_options`, `client_fault`, `storage_failed`.
 */
export class TributaryError extends Error {
  override name = 'TributaryError'
  readonly code: string
  /** HTTP status, 0 when there was no answer. */
  readonly status: number
  readonly field: string | undefined
  readonly request_id: string | undefined
  readonly retry_after_ms: number | undefined

  constructor(code: string, { status, field, request_id, retry_after_ms, message, cause }: TributaryErrorDetails) {
    super(message ?? code, cause === undefined ? undefined : { cause })
    this.code = code
    this.status = status
    this.field = field
    this.request_id = request_id
    this.retry_after_ms = retry_after_ms
  }
}
