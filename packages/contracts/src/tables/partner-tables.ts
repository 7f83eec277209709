import type { Table } from './table.ts'

/** The log of partner postbacks. */
export const partnerTables = {
  partner_deliveries_v1: {
    row: 'a try to deliver a postback to a partner',
    writers: ['postback-forwarder', 'eraser'],
    readers: ['admin-api', 'eraser'],
    personal: ['install_uuid', 'idempotency_key', 'answer'],
    erased_by: { look_up: ['day', 'delivery_key', 'try', 'erased'] },
  },
} as const satisfies Record<string, Table>
