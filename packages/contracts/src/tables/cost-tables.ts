import type { Table } from './table.ts'

/** Costs of ads. ClickHouse alone holds them: no log and no audit object has them (docs/backup.md#costs). */
export const costTables = {
  costs_v1: {
    row: 'the cost of a day, partner, campaign, ad group and country, as an upload had it',
    writers: ['ingest-gateway', 'admin-api'],
    readers: ['ingest-gateway', 'admin-api', 'report-api'],
    personal: [],
    erased_by: { nothing: 'it says what ads cost, and nothing of an install' },
  },
} as const satisfies Record<string, Table>
