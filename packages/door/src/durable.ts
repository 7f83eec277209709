import { CodedError, type ErrorCode } from '@tributary/contracts/errors'

/** Seconds a client is asked to wait when a dependency is away. */
const retry_after_s = '1'

/** The audit write, or 503 `audit_write_failed`: without it nothing is published. */
export const audited = <T>(write: Promise<T>): Promise<T> => write.catch(refuse('audit_write_failed'))

/** The publish, or 503 `unavailable`: the client sends again, and duplicates are dropped behind the log. */
export const published = (publish: Promise<void>): Promise<void> => publish.catch(refuse('unavailable'))

const refuse = (code: ErrorCode) => (cause: unknown) => {
  throw new CodedError(code, { cause, headers: { 'retry-after': retry_after_s } })
}
