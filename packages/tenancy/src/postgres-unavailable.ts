import { CodedError, retrySoon } from '@tributary/contracts/errors'

/** `unavailable` while PostgreSQL does not answer: it is tried again within a second, so a client may come back soon. */
export const postgresUnavailable = (cause?: unknown): CodedError =>
  new CodedError('unavailable', { cause, headers: retrySoon })
