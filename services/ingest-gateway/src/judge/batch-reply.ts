import type { BatchReply } from '@tributary/contracts/event'
import type { BatchVerdict } from '@tributary/domain/accept/accept-batch'

/** The answer to a batch (`BatchReply` of contracts) as JSON text, all but its `audit_key`; see `closeReply`. */
export function openReply({ accepted, results }: BatchVerdict): string {
  const reply: Omit<BatchReply, 'audit_key'> = {
    accepted: accepted.length,
    rejected: results.length - accepted.length,
    results,
  }
  return JSON.stringify(reply).slice(0, -1)
}

/** `openReply` where everything was accepted; the ids need no escapes. */
export const openPlainReply = (event_ids: readonly string[]): string =>
  `{"accepted":${event_ids.length},"rejected":0,"results":[${event_ids
    .map((event_id) => `{"event_id":"${event_id}","status":"accepted"}`)
    .join()}]`

/** Completes what `openReply` began. */
export const closeReply = (open: string, audit_key: string): string =>
  `${open},"audit_key":${JSON.stringify(audit_key)}}`
