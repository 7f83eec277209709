import { position, same, type Table } from './table.ts'

/** Columns that name an event in tables of receipts: a record may hold an `event_id` on several days. */
const place = ['day', 'event_key', 'topic', 'partition', 'offset'] as const

/** Claims on transactions by their id, which what a store confirmed is chosen among. */
export const transactionClaims = {
  row: 'a claim on the money of a transaction without a receipt, by its id whatever the name of the event',
  writers: ['event-writer'],
  readers: ['receipt-validator', 'admin-api', 'eraser', 'reconciler'],
  personal: ['install_uuid', 'event_key'],
  erased_by: { look_up: [...place, 'claim_key'] },
  derived: {
    from: 'events_raw_v1',
    // `receiptKey` of the domain: events that a store can confirm.
    where:
      'transaction_key != 0 AND revenue_counts = 1 AND revenue_micros IS NOT NULL AND transaction_key != bitXor(event_key, toUInt64(toUInt16(day)) * 11400714819323198485)',
    known_by: 'positions',
    groups: {
      app_id: 'app_id',
      claim_key:
        "sipHash64(if(event_name IN ('subscription_refunded', 'purchase_refunded'), 'refund', 'charge'), transaction_id)",
      ...same('day', 'install_uuid', 'event_name', 'event_key', 'currency', 'transaction_key', 'received_at_ms'),
      amount_micros: 'assumeNotNull(revenue_micros)',
      claim_rank: "if(source = 'sdk', 1, 2)",
      dated_at_ms: 'least(received_at_ms, if(ts_ms = received_at_ms AND sent_at_ms > 0, sent_at_ms, ts_ms))',
      ...position,
    },
  },
} as const satisfies Table

/** What the stores say of receipts, and the money that follows from it (docs/decisions/money.md#receipts-choose-what-counts). */
export const receiptTables = {
  receipts_v1: {
    row: 'the newest verdict on the receipt of an event, or on an event that a store sent',
    reread: true,
    writers: ['receipt-validator'],
    readers: ['receipt-validator', 'report-api', 'admin-api', 'eraser', 'reconciler', 'settler'],
    personal: [
      ...['install_uuid', 'event_id', 'event_key', 'stated_id', 'receipt_hash', 'transaction_id', 'original_id'],
    ],
    erased_by: { look_up: [...place] },
  },
  receipts_by_claim_v1: {
    row: 'an event whose receipt claims a transaction, or did once; a refund is under its charge too',
    writers: ['receipt-validator'],
    readers: ['receipt-validator', 'admin-api', 'eraser'],
    personal: ['install_uuid', 'event_key'],
    erased_by: { look_up: [...place, 'claim_key'] },
    derived: {
      from: 'receipts_v1',
      where: 'claim_key != 0',
      known_by: 'set',
      groups: {
        ...same('app_id', 'install_uuid', 'dated_at_ms', ...place),
        claim_key:
          "arrayJoin(if(event_name IN ('subscription_refunded', 'purchase_refunded'), [claim_key, sipHash64('charge', if(verdict = 'valid', transaction_id, stated_id))], [claim_key]))",
      },
    },
  },
  revenue_chosen_v1: {
    row: 'what counts of the money of an event whose transaction has a receipt; the event is in revenue_cancelled_v1 too',
    reread: true,
    writers: ['receipt-validator'],
    readers: ['receipt-validator', 'report-api', 'admin-api', 'eraser', 'reconciler', 'settler'],
    personal: ['install_uuid', 'install_key', 'event_key'],
    erased_by: { look_up: [...place] },
  },
} as const satisfies Record<string, Table>
