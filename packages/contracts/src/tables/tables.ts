import { claimRanks } from '../event/rows.ts'
import { attributionTables } from './attribution-tables.ts'
import { costTables } from './cost-tables.ts'
import { erasureTables } from './erasure-tables.ts'
import { partnerTables } from './partner-tables.ts'
import { postbackTables } from './postback-tables.ts'
import { receiptTables, transactionClaims } from './receipt-tables.ts'
import { activityByDay, moneyDays, settlingTables } from './report-tables.ts'
import { type Derived, position, same, type Table } from './table.ts'

/** SQL condition on `events_raw_v1`: the money of the event counts. */
export const hasMoney = 'revenue_counts = 1 AND revenue_micros IS NOT NULL'

/** SQL of the hash that names an event in `row_keys` of `erased_events_v1` (docs/decisions/erasure.md#open-erasures-name-their-events). */
export const erasedRowKey = (event_key = 'event_key'): string => `sipHash64(topic, partition, offset, ${event_key})`

/**
 * Every table of ClickHouse. A table that a view fills comes after the table that the view reads. Tables are filled in this order, and
 * `event_keys_v1` is the last that events fill: if the key of an event is there, every table has the event.
 */
export const tables = {
  schema_migrations_v1: {
    row: 'a migration that ran',
    writers: ['migrator'],
    readers: [
      'migrator',
      'ingest-gateway',
      'event-writer',
      'click-writer',
      'install-attributor',
      'install-writer',
      'postback-writer',
      'postback-forwarder',
      'receipt-validator',
      'report-api',
      'admin-api',
      'eraser',
      'replayer',
      'retention',
      'reconciler',
      'settler',
    ],
    personal: [],
    erased_by: { nothing: 'it is about the tables' },
  },
  events_raw_v1: {
    row: 'an accepted event, once',
    writers: ['event-writer'],
    readers: [
      ...(['event-writer', 'postback-forwarder', 'receipt-validator'] as const),
      ...(['report-api', 'admin-api', 'eraser', 'reconciler', 'retention', 'settler'] as const),
    ],
    personal: [
      ...['install_uuid', 'event_id', 'event_key', 'user_id', 'transaction_id', 'props', 'device', 'extra'],
      ...['ip', 'user_agent', 'audit_key'],
    ],
    erased_by: { look_up: ['day', 'event_key', 'topic', 'partition', 'offset'] },
    retention: {
      blanked: {
        received_ms: 'received_at_ms',
        holds: `(ip != '' OR user_agent != '')`,
        // Backends send the address of a device as `device.ip`.
        columns: { ip: `''`, user_agent: `''`, device: `replaceRegexpAll(device, '"ip":"[^"]*"', '"ip":""')` },
      },
      deleted_after: 'keep_raw_days',
    },
  },
  raw_expired_v1: {
    row: 'the day up to which retention has deleted the raw events of an app',
    writers: ['retention'],
    readers: ['report-api', 'event-writer', 'eraser', 'retention', 'reconciler', 'settler'],
    personal: [],
    erased_by: { nothing: 'it names days of an app' },
  },
  events_per_day_v1: {
    row: 'number of events and sum of their money, by day, event name and currency',
    writers: ['event-writer'],
    readers: ['event-writer', 'report-api', 'eraser', 'reconciler', 'retention'],
    personal: [],
    erased_by: { subtracted: true },
    derived: {
      from: 'events_raw_v1',
      known_by: 'counted',
      groups: same('app_id', 'day', 'event_name', 'currency'),
      sums: {
        events: ['sum(events)', 'count()'],
        revenue_micros: ['sum(revenue_micros)', `sumIf(toInt128(assumeNotNull(revenue_micros)), ${hasMoney})`],
      },
    },
  },
  events_received_per_day_v1: {
    row: 'number of events by the day on which they were received',
    writers: ['event-writer'],
    readers: ['event-writer', 'admin-api', 'reconciler'],
    personal: [],
    erased_by: { nothing: 'it is what the quota counts, by day' },
    derived: {
      from: 'events_raw_v1',
      known_by: 'counted',
      day: 'received_day',
      groups: { app_id: 'app_id', received_day: "toDate(fromUnixTimestamp64Milli(received_at_ms, 'UTC'))" },
      sums: { events: ['sum(events)', 'count()'] },
    },
  },
  event_installs_per_day_v1: {
    row: 'set of the installs that had an event, by day and event name',
    writers: ['event-writer', 'retention', 'eraser'],
    readers: ['report-api', 'eraser', 'retention', 'reconciler', 'settler'],
    personal: ['installs'],
    erased_by: { counted_raw: 'events_raw_v1', on: ['day', 'event_name'] },
    derived: {
      from: 'events_raw_v1',
      known_by: 'set',
      groups: same('app_id', 'day', 'event_name'),
      sums: { installs: ['uniqExactMerge(installs)', 'uniqExact(install_uuid)'] },
    },
  },
  activity_by_day_v1: activityByDay,
  identities_v1: {
    row: 'first time that an install had a user id',
    writers: ['event-writer', 'eraser'],
    readers: ['report-api', 'admin-api', 'eraser'],
    personal: ['install_uuid', 'user_id'],
    erased_by: { made_again: 'events_raw_v1', on: ['install_key', 'user_id'] },
    derived: {
      from: 'events_raw_v1',
      where: `user_id != ''`,
      known_by: 'set',
      groups: same('app_id', 'install_uuid', 'user_id'),
      values: { since_ms: ['min(since_ms)', 'min(ts_ms)'] },
    },
  },
  revenue_raw_v1: {
    row: 'an event whose money counts',
    writers: ['event-writer'],
    readers: ['event-writer', 'receipt-validator', 'report-api', 'admin-api', 'eraser', 'reconciler', 'settler'],
    personal: ['install_uuid', 'install_key', 'event_key'],
    erased_by: { with: 'events_raw_v1', on: ['day', 'event_key', 'topic', 'partition', 'offset'] },
    derived: {
      from: 'events_raw_v1',
      where: hasMoney,
      known_by: 'positions',
      groups: {
        ...same('app_id', 'day', 'install_uuid', 'ts_ms', 'correction_ms', 'event_name', 'event_key', 'currency'),
        amount_micros: 'assumeNotNull(revenue_micros)',
        ...same('transaction_key', 'received_at_ms'),
        ...position,
        install_key: 'sipHash64(install_uuid)',
        claim_rank: `if(source = 'sdk', ${claimRanks.sdk}, ${claimRanks.backend})`,
      },
    },
  },
  transaction_keys_v1: {
    row: 'a claim on the money of a transaction',
    writers: ['event-writer'],
    readers: ['event-writer', 'report-api', 'eraser', 'reconciler'],
    personal: [],
    erased_by: { with: 'revenue_raw_v1', on: ['transaction_key', 'topic', 'partition', 'offset'] },
    derived: {
      from: 'revenue_raw_v1',
      where: 'transaction_key != 0',
      known_by: 'positions',
      groups: { ...same('app_id', 'transaction_key', 'day', 'received_at_ms'), ...position, ...same('claim_rank') },
    },
  },
  transaction_claims_v1: transactionClaims,
  revenue_cancelled_v1: {
    row: 'an event of revenue_raw_v1 whose money does not count after all',
    writers: ['event-writer', 'receipt-validator', 'eraser'],
    readers: ['event-writer', 'receipt-validator', 'report-api', 'admin-api', 'eraser', 'reconciler', 'settler'],
    personal: ['install_uuid', 'event_key'],
    erased_by: { with: 'revenue_raw_v1', on: ['day', 'event_key', 'topic', 'partition', 'offset'] },
    swept_from: 'transaction_keys_v1',
  },
  money_days_v1: moneyDays,
  event_keys_v1: {
    row: 'the idempotency key of an event',
    writers: ['event-writer'],
    readers: ['event-writer', 'eraser', 'reconciler', 'replayer'],
    personal: ['event_key'],
    erased_by: { with: 'events_raw_v1', on: ['key_day', 'event_key', 'topic', 'partition', 'offset'] },
    derived: {
      from: 'events_raw_v1',
      known_by: 'keys',
      groups: { ...same('app_id', 'key_day', 'event_key'), ...position },
    },
  },
  ...attributionTables,
  ...postbackTables,
  ...partnerTables,
  ...receiptTables,
  ...settlingTables,
  ...erasureTables,
  ...costTables,
} as const satisfies Record<string, Table>

export type TableName = keyof typeof tables
export const tableNames = Object.keys(tables) as TableName[]
/** A table that a view fills. */
export type DerivedName = {
  [Name in TableName]: (typeof tables)[Name] extends { derived: Derived } ? Name : never
}[TableName]
export const derivedNames = tableNames.filter((name): name is DerivedName => 'derived' in tables[name])
export const derivedOf = (name: DerivedName): Derived => tables[name].derived
/** Tables that views fill from accepted events, directly or through another such table. */
export const derivedFromEvents = derivedNames.filter((name) => rootOf(name) === 'events_raw_v1')

function rootOf(name: string): string {
  const table: Table = tables[name as TableName]
  return table.derived === undefined ? name : rootOf(table.derived.from)
}
/** SQL condition for the rows of apps. Other rows are counters of written or copied rows: their `app_id` begins with a slash. */
export const ofApps = `NOT startsWith(app_id, '/')`
/** SQL condition for the rows of events: a table that is known by counting also has a counter for each partition of a log. */
export const rowsOfApps = (name: DerivedName): string => (derivedOf(name).known_by === 'counted' ? ofApps : '1')
/** The source of each table that no view fills: once the table is empty, a job of its writer fills it again from there. */
export const sweptFrom: Readonly<Record<string, string>> = Object.fromEntries(
  tableNames.flatMap((name) => {
    const { swept_from }: Table = tables[name]
    return swept_from === undefined ? [] : [[name, swept_from]]
  }),
)
/** The tables whose consumer brings lost rows back from the log. */
export const rereadTables: ReadonlySet<string> = new Set(
  tableNames.filter((name) => {
    const { reread }: Table = tables[name]
    return reread === true
  }),
)
/** Tables that an erasure deletes rows from. */
export const erasedTables: readonly TableName[] = tableNames.filter((name) => {
  const { erased_by }: Table = tables[name]
  return !('nothing' in erased_by) && !('subtracted' in erased_by)
})
/** The tables that the settler fills, and may fill again at any time. */
export const settledTables: readonly string[] = tableNames.filter((name) => settlingOf(name) === 'figures')
/** The table of versions (stamps). Several views fill it; only `stampAgain` fills it again. */
export const stampTables: readonly string[] = tableNames.filter((name) => settlingOf(name) === 'stamps')

function settlingOf(name: TableName): Table['settling'] {
  const { settling }: Table = tables[name]
  return settling
}
