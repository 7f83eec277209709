import type { BatchReply } from '@tributary/contracts/event'
import type { BatchVerdict } from '@tributary/domain/accept-batch'

/** The answer to a batch as JSON text (`BatchReply` of contracts). */
export function batchReply({ accepted, results }: BatchVerdict, audit_key: string): string {
  const reply: BatchReply = {
    accepted: accepted.length,
    rejected: results.length - accepted.length,
    results,
    audit_key,
  }
  return JSON.stringify(reply)
}
