import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import { readViewSources } from '@tributary/clickhouse/schema/view-sources'
import type { StampSource } from '@tributary/contracts/report-tables'
import type { Table } from '@tributary/contracts/table'
import { type TableName, tableNames, tables } from '@tributary/contracts/tables'
import type { RedecisionList } from '@tributary/tables/attribution/redecisions'
import { readRawExpired, refillSets } from '@tributary/tables/events/raw-expired'
import { cancelBeatenClaims, copyingOf } from '@tributary/tables/money/cancel-beaten-claims'
import { claimColumns } from '@tributary/tables/money/transaction-keys'
import { blankDeliveries } from '@tributary/tables/partners/deliveries'
import { addStamps, bumpMoneyDays } from '@tributary/tables/settled/bump-stamps'
import type { BatchPlan, StoredBatch } from './batch.ts'
import { deleteRows } from './delete-rows.ts'
import { findReceiptRows, receiptTableNames } from './find-receipts.ts'
import { makeAgain } from './make-again.ts'
import { keysOf } from './row-keys.ts'

export interface CarryOutDeps {
  clickhouse: Clickhouse
  redecisions: Pick<RedecisionList, 'add'>
  /** Called before each step; rejects when the lease is lost. Tests throw there, as a kill would. */
  beforeStep(step: string): Promise<void>
  /** Called before a step that is taken even when the lease is lost. */
  atStep?: (step: string) => void
}

type Planned = StoredBatch & { plan: BatchPlan }

/**
 * Does what a stored batch says. It may be killed at any point and repeated, also much later: each step is a set, a delete
 * or may happen twice. Counters come before the deletes and stamps after them, so that no report keeps a figure of before
 * (docs/decisions/erasure.md#an-erasure-is-a-stored-plan).
 */
export async function carryOut(
  { clickhouse, redecisions, beforeStep, atStep }: CarryOutDeps,
  stored: Planned,
): Promise<void> {
  const { batch, app_id, installs, plan } = stored
  const name = `eraser/${batch}`
  // 1. Transactions stay claimed. A crash now: claims stand in both tables, which is the same.
  await beforeStep('claims')
  await insertClaims(clickhouse, stored)
  // 2. Sums take the events off. A crash now: they are counted off before they go, and the batch comes again.
  await beforeStep('counters')
  await insertEvents(clickhouse, stored, 0)
  // 3. The rows go. A crash now: the rest of them goes when the batch comes again.
  const views = await readViewSources(clickhouse)
  for (const table of deleteOrder) {
    // Events and their money are gone, so a statement that begins now copies nothing of them.
    if (table === copied[0]) await endCopying({ clickhouse, beforeStep }, app_id, plan)
    const keys = plan.deletes[table]
    if (keys === undefined) continue
    const { erased_by }: Table = tables[table]
    if (table === 'partner_deliveries_v1') {
      await beforeStep(`blank ${table}`)
      await blankDeliveries(clickhouse, app_id, keys.rows, name)
    }
    await beforeStep(`delete ${table}`)
    await deleteRows(clickhouse, table, app_id, keys, name)
    if (!('made_again' in erased_by)) continue
    // Even if the lease is lost: the delete may have been late, and taken rows of a new life.
    atStep?.(`make ${table} again`)
    await makeAgain(clickhouse, views.get(table)!, { app_id, installs }, keys, name)
  }
  // What was copied since the batch was planned.
  await beforeStep('delete copied receipts')
  const late = await findReceiptRows(clickhouse, app_id, installs)
  for (const table of receiptTableNames) {
    if (late[table].length > 0) await deleteRows(clickhouse, table, app_id, keysOf(table, late[table]), name)
  }
  await refillMarkedSets({ clickhouse, beforeStep }, app_id, plan)
  // 4. The counters are whole from now on: a comparison of tables expects no difference any more.
  await beforeStep('done counters')
  await insertEvents(clickhouse, stored, 1)
  // 5. Settled figures of these days end. A crash now: they are settled once more.
  await beforeStep('stamps')
  await bump(clickhouse, stored)
  // 6. Neighbours are decided again. A crash now: they are added twice, and found unchanged.
  await beforeStep('redecisions')
  await redecisions.add(plan.neighbours.map((install_uuid) => ({ app_id, install_uuid })))
}

/** Tables that the engine copies rows of events into, when others ask it to. */
const copied: readonly TableName[] = [
  'revenue_cancelled_v1',
  ...receiptTableNames.filter((name) => name !== 'transaction_claims_v1'),
]
/** Tables in the order of their deletes: copies come last. A stored plan has no certain order. */
const deleteOrder = [...tableNames.filter((name) => !copied.includes(name)), ...copied]

/** Pause between two checks whether statements of others have ended; each takes milliseconds. */
const look_pause_ms = 20

/**
 * Cancels the money of claims that had lost to an erased one, so that none of them wins, and waits until no statement copies
 * money or receipts of the app. The deletes after it therefore take all copies of the installs
 * (docs/decisions/money.md#the-engine-copies-cancelled-money).
 */
async function endCopying(
  { clickhouse, beforeStep }: Pick<CarryOutDeps, 'clickhouse' | 'beforeStep'>,
  app_id: string,
  { closed }: BatchPlan,
): Promise<void> {
  await beforeStep('cancel')
  const lookups = closed.map((transaction_key) => ({ app_id, transaction_key }))
  await cancelBeatenClaims(clickhouse, lookups, { again: true })
  while (await clickhouse.isInserting(copyingOf(app_id))) {
    await pause(look_pause_ms)
    await beforeStep('cancelled')
  }
}

/** Reports count erased names of a day in raw events, but for days with a mark of retention: their sets are filled again at once. */
async function refillMarkedSets(
  { clickhouse, beforeStep }: Pick<CarryOutDeps, 'clickhouse' | 'beforeStep'>,
  app_id: string,
  { deletes: { event_installs_per_day_v1: sets } }: BatchPlan,
): Promise<void> {
  const before = (await readRawExpired(clickhouse)).get(app_id) ?? ''
  const marked = (sets?.rows ?? []).filter(([day]) => String(day) < before)
  if (marked.length === 0) return
  await beforeStep('refill sets')
  const names = marked.map(([day, event_name_key]) => `(${textLiteral(String(day))}, ${BigInt(event_name_key!)})`)
  await refillSets(
    clickhouse,
    `app_id = ${textLiteral(app_id)} AND (toString(day), sipHash64(event_name)) IN (${names.join(', ')})`,
  )
}

const eventColumns = [
  ...(['app_id', 'day', 'event_name', 'currency', 'batch', 'received_day', 'topic', 'partition'] as const),
  ...(['events', 'revenue_micros', 'row_keys', 'done'] as const),
]

async function insertEvents(clickhouse: Clickhouse, { app_id, batch, plan }: Planned, done: 0 | 1): Promise<void> {
  if (plan.events.length === 0) return
  const rows = plan.events.map((one) => ({ ...one, app_id, batch, done, ...(done === 1 && { row_keys: [] }) }))
  const lines = rows.map((row) => JSON.stringify(eventColumns.map((name) => row[name])))
  const token = `erased-events/${randomUUID()}`
  await clickhouse.insert({ table: 'erased_events_v1', columns: eventColumns, lines: lines.join('\n'), token })
}

async function insertClaims(clickhouse: Clickhouse, { app_id, plan }: Planned): Promise<void> {
  if (plan.claims.length === 0) return
  const lines = plan.claims.map((one) => JSON.stringify(claimColumns.map((name) => ({ ...one, app_id })[name])))
  const token = `erased-claims/${randomUUID()}`
  await clickhouse.insert({ table: 'erased_claims_v1', columns: claimColumns, lines: lines.join('\n'), token })
}

async function bump(clickhouse: Clickhouse, { app_id, installs, plan }: Planned): Promise<void> {
  const stamps = Object.entries(plan.stamps).flatMap(([source, days]) =>
    days.map((day) => ({ app_id, source: source as StampSource, day, rows: 1 })),
  )
  await addStamps(clickhouse, stamps, `eraser/${randomUUID()}`)
  // Money that is left for the next batch has lost its partner.
  await bumpMoneyDays(
    clickhouse,
    installs.map(({ install_uuid }) => ({ app_id, install_uuid })),
  )
}
