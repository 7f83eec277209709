import { CodedError } from '@tributary/contracts/errors'
import { isJsonObject } from './accept-event.ts'

export interface SdkBatch {
  events: unknown[]
  /** Rounded to an integer; undefined when it is absent or not a finite number. */
  sent_at_ms: number | undefined
}

/** The batch that a parsed body is: `bad_batch_shape` for anything but an array `events` with a numeric `sent_at_ms` or none. */
export function toSdkBatch(body: unknown): SdkBatch {
  if (!isJsonObject(body) || !Array.isArray(body.events)) {
    throw new CodedError('bad_batch_shape', {
      field: 'events',
      message: 'The body is an object with an array `events`.',
    })
  }
  const sent = body.sent_at_ms ?? undefined
  if (sent !== undefined && typeof sent !== 'number') throw new CodedError('bad_batch_shape', { field: 'sent_at_ms' })
  const rounded = sent === undefined ? undefined : Math.round(sent)
  return { events: body.events, sent_at_ms: Number.isSafeInteger(rounded) ? rounded : undefined }
}
