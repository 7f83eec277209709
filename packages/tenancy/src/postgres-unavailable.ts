import { CodedError } from '@tributary/contracts/errors'
import { limits } from '@tributary/contracts/limits'

/** `unavailable` while PostgreSQL does not answer: it is tried again within a second, so a client may come back soon. */
export const postgresUnavailable = (cause?: unknown): CodedError =>
  new CodedError('unavailable', { cause, headers: { 'retry-after': String(limits.retry_soon_s) } })
