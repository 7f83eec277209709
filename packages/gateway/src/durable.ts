import type { Broker } from '@tributary/broker/broker'
import { CodedError, type ErrorCode, retrySoon } from '@tributary/contracts/errors'

/**
 * Makes the content of a request durable, and returns the answer of the audit store:
 * 1. The audit store has it, or the answer is 503 `audit_write_failed`. A crash after this leaves an object whose
 *    request the client sends again.
 * 2. The log has its records, or the answer is 503 `unavailable`. A crash after this leaves records that the client
 *    sends again, and that consumers drop as duplicates.
 */
export async function makeDurable<Stored>(
  broker: Pick<Broker, 'publish'>,
  audit: Promise<Stored>,
  toRecords: (stored: Stored) => Parameters<Broker['publish']>[0],
): Promise<Stored> {
  const stored = await audit.catch(refuse('audit_write_failed'))
  const records = toRecords(stored)
  if (records.length > 0) await broker.publish(records).catch(refuse('unavailable'))
  return stored
}

const refuse = (code: ErrorCode) => (cause: unknown) => {
  throw new CodedError(code, { cause, headers: retrySoon })
}
