import type { Table } from '@tributary/contracts/table'
import { type TableName, tables } from '@tributary/contracts/tables'
import { noTransaction } from '@tributary/domain/event-key'
import type { RowKeys } from './batch.ts'
import type { ExpiredRows } from './find-expired.ts'
import type { ReceiptRows } from './find-receipts.ts'
import type { ClickRow, DeliveryRow, EventToErase, FactRow, findIdentities, VerdictRow } from './find-rows.ts'

type Value = string | number
/** A row to erase: whose it is, and the values of the columns that name it. */
type Named = { install_uuid: string } & Record<string, unknown>

export interface Deletes {
  keys: Record<string, RowKeys>
  counts: Record<string, Record<string, number>>
}

/** All that was found for a batch. */
export interface FoundRows {
  events: EventToErase[]
  expired: ExpiredRows
  verdicts: VerdictRow[]
  facts: FactRow[]
  clicks: ClickRow[]
  identities: Awaited<ReturnType<typeof findIdentities>>
  deliveries: DeliveryRow[]
  receipts: ReceiptRows
  /** UTC days of events whose sums and sets of installs stay. */
  expiredDays: ReadonlySet<string>
}

/** The rows of every table that go with what was found, as the declarations of the tables say. */
export function deletesOf({
  events,
  verdicts,
  facts,
  clicks,
  identities,
  deliveries,
  receipts,
  expired,
  expiredDays,
}: FoundRows): Deletes {
  const money = [...events.filter(({ has_money }) => has_money === 1), ...expired.money]
  const active = [...events, ...expired.activity]
  const claims = money.filter(({ transaction_key }) => transaction_key !== noTransaction)
  const decided = verdicts.filter(({ pending }) => pending === 0)
  const byTable: Record<ErasedName, readonly object[]> = {
    events_raw_v1: events,
    revenue_raw_v1: money,
    transaction_keys_v1: claims,
    event_keys_v1: [...events, ...expired.keys],
    event_installs_per_day_v1: events.filter(({ day }) => !expiredDays.has(day)),
    activity_by_day_v1: active.map((row) => ({ ...row, day: row.active_day, event_day: row.day })),
    money_days_v1: money,
    identities_v1: identities,
    install_facts_v1: facts,
    install_fact_keys_v1: facts.flatMap(withKeys),
    installs_v1: verdicts,
    installs_by_day_v1: decided,
    installs_by_dimensions_v1: decided,
    installs_by_key_v1: decided,
    install_claims_v1: verdicts.filter(({ has_click }) => has_click === 1),
    installs_pending_v1: verdicts.filter(({ pending }) => pending === 1),
    clicks_raw_v1: clicks,
    click_keys_v1: clicks.flatMap(withKeys),
    partner_deliveries_v1: deliveries,
    ...receipts,
    revenue_cancelled_v1: claims,
  }
  // An install may have the name of a member of every object, such as `__proto__`.
  const deletes: Deletes = { keys: Object.create(null), counts: Object.create(null) }
  for (const [table, rows] of Object.entries(byTable)) addTable(deletes, table as ErasedName, rows as readonly Named[])
  return deletes
}

/** Tables with rows that an erasure deletes. */
type ErasedName = {
  [Name in TableName]: (typeof tables)[Name]['erased_by'] extends { nothing: string } | { subtracted: true }
    ? never
    : Name
}[TableName]

const withKeys = <Row extends { match_keys: readonly string[] }>(row: Row) =>
  row.match_keys.map((match_key) => ({ ...row, match_key }))

/** It has few of the rows that are deleted from it. A certificate does not count these. */
const perhaps = 'revenue_cancelled_v1' satisfies ErasedName

/** The rows by the columns that name them. */
export const keysOf = (table: ErasedName, rows: readonly object[]): RowKeys => ({
  columns: columnsOf(table),
  rows: [...rowsByKey(table, rows as readonly Named[]).keys()].map((key) => JSON.parse(key) as Value[]),
})

/** One row of each name. */
const rowsByKey = (table: ErasedName, rows: readonly Named[]): Map<string, Named> =>
  new Map(rows.map((row) => [JSON.stringify(columnsOf(table).map((name) => valueIn(row, name))), row]))

function addTable({ keys, counts }: Deletes, table: ErasedName, rows: readonly Named[]): void {
  if (rows.length === 0) return
  keys[table] = keysOf(table, rows)
  if (table === perhaps) return
  for (const { install_uuid } of rowsByKey(table, rows).values()) {
    const own = counts[install_uuid] ?? {}
    counts[install_uuid] = { ...own, [table]: (own[table] ?? 0) + 1 }
  }
}

/** The columns that name a row of a table where it is deleted. */
function columnsOf(table: ErasedName): readonly string[] {
  const { erased_by }: Table = tables[table]
  if ('look_up' in erased_by) return erased_by.look_up
  if ('on' in erased_by) return erased_by.on
  throw new Error(`nothing is deleted from ${table}`)
}

/** Deletes hold hashes of names and ids: the engine keeps their text. */
const hashed: Readonly<Record<string, string>> = {
  event_name: 'event_name_key',
  click_id: 'click_key',
  user_id: 'user_key',
}
const valueIn = (row: Named, column: string): Value => row[hashed[column] ?? column] as Value
