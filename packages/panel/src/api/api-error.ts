import { errorMeanings } from './declared/errors.ts'

interface Fault {
  /** `0`: no answer came. */
  status: number
  code: string
  message?: string | undefined
  field?: string | undefined
  request_id?: string | undefined
  retry_after_s?: number | undefined
}

export const unreachable: Fault = { status: 0, code: 'no_answer' }

/** An answer that is an error, or none at all. */
export class ApiError extends Error implements Fault {
  readonly status: number
  readonly code: string
  readonly field: string | undefined
  readonly detail: string | undefined
  readonly request_id: string | undefined
  readonly retry_after_s: number | undefined

  constructor(fault: Fault) {
    super(fault.message ?? fault.code)
    this.status = fault.status
    this.code = fault.code
    this.field = fault.field
    this.detail = fault.message
    this.request_id = fault.request_id
    this.retry_after_s = fault.retry_after_s
  }
}

export async function toApiError(answer: Response): Promise<ApiError> {
  const content = (await answer.json().catch(() => ({}))) as Record<string, unknown>
  const text = (name: string) => (typeof content[name] === 'string' ? content[name] : undefined)
  const retry_after_s = Number(answer.headers.get('retry-after') ?? Number.NaN)
  return new ApiError({
    status: answer.status,
    code: text('error') ?? `http_${answer.status}`,
    message: text('message'),
    field: text('field'),
    request_id: text('request_id'),
    retry_after_s: Number.isNaN(retry_after_s) ? undefined : retry_after_s,
  })
}

/** Without its cookie a request names no caller at all: another window signed out. */
const sessionCodes = new Set(['sign_in_required', 'session_ended', 'missing_bearer_token'])
export const isSessionOver = (error: unknown): boolean => error instanceof ApiError && sessionCodes.has(error.code)

/** The meaning of an error, and the fix. */
export function explain(error: unknown): { code: string; meaning: string; fix: string; docs: string | null } {
  if (!(error instanceof ApiError))
    return { code: 'panel_fault', meaning: 'The panel itself has a fault.', fix: 'Reload the page.', docs: null }
  const { code, status, detail } = error
  if (status === 0)
    return { code, meaning: 'The service did not answer.', fix: 'Check the network, then try again.', docs: null }
  const meaning = detail ?? errorMeanings[code] ?? 'The service refused the request.'
  return { code, meaning, fix: fixOf(error), docs: code in errorMeanings ? `/docs/errors#${code}` : null }
}

function fixOf({ status, code, retry_after_s }: ApiError): string {
  if (code === 'rate_limited' || code === 'busy')
    return retry_after_s === undefined ? 'Try again in a moment.' : `Try again in ${retry_after_s} s.`
  if (status === 503) return 'A part of the service is away. The page tries again by itself.'
  if (status >= 500) return 'Try again. If it stays, give the request id to an operator.'
  if (status === 404) return 'It does not exist, or your role does not include it.'
  if (status === 401) return 'Check what you typed, or sign in again.'
  return 'Change the request and try again.'
}
