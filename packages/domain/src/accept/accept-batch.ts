import type { Envelope } from '@tributary/contracts/envelope'
import type { RejectReason } from '@tributary/contracts/errors'
import type { EventResult } from '@tributary/contracts/event'
import { type AcceptedEvent, cutReceipt, echo, findEventFault, isJsonObject } from './accept-event.ts'
import { faultMessage } from './fault-message.ts'

export interface BatchVerdict {
  /** Events in the order they came; those without an `event_id` carry a minted one (backends only). */
  accepted: AcceptedEvent[]
  /** One per item, in request order. */
  results: EventResult[]
  /** How many items were rejected for which reason. */
  rejected: Map<RejectReason, number>
  /** Minted ids by the index of their item, so that the audit object can hold them. */
  minted: Record<number, string>
}

/** Accepts or rejects each item of a batch on its own; the platform rule and the allow-list were checked before. */
export function acceptBatch(
  events: readonly unknown[],
  source: Envelope['source'],
  now_ms: number,
  mintEventId: () => string,
  findFault = findEventFault,
): BatchVerdict {
  const verdict: BatchVerdict = { accepted: [], results: [], rejected: new Map(), minted: Object.create(null) }
  for (const [index, event] of events.entries()) {
    const fault = findFault(event, source, now_ms)
    if (fault) {
      verdict.rejected.set(fault.reason, (verdict.rejected.get(fault.reason) ?? 0) + 1)
      const message = faultMessage(fault, event)
      verdict.results.push({ event_id: echoEventId(event), status: 'rejected', ...fault, message })
      continue
    }
    let accepted = cutReceipt(event as AcceptedEvent)
    if (typeof accepted.event_id !== 'string') {
      verdict.minted[index] = mintEventId()
      accepted = { ...accepted, event_id: verdict.minted[index] }
    }
    verdict.accepted.push(accepted)
    verdict.results.push({ event_id: accepted.event_id as string, status: 'accepted' })
  }
  return verdict
}

const echoEventId = (event: unknown): string | null =>
  isJsonObject(event) && typeof event.event_id === 'string' ? echo(event.event_id) : null
