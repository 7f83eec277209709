import type { Table } from './table.ts'

/** Tables by which sums and transactions stay right after an erasure (docs/decisions/erasure.md#an-erasure-is-a-stored-plan). */
export const erasureTables = {
  erased_events_v1: {
    row: 'events that an erasure took away, which reports take off their sums',
    writers: ['eraser'],
    readers: ['event-writer', 'report-api', 'eraser', 'retention', 'reconciler', 'settler'],
    personal: [],
    erased_by: { nothing: 'it counts events of a day' },
  },
  erased_claims_v1: {
    row: 'a claim of an erased event on the money of a transaction, or the end of all claims on it',
    writers: ['eraser'],
    readers: ['event-writer', 'receipt-validator', 'report-api', 'eraser'],
    personal: [],
    erased_by: { nothing: 'it has the hash of a transaction and the log position of an event' },
  },
} as const satisfies Record<string, Table>
