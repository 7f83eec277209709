import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { limits } from '@tributary/contracts/limits'
import { findExpiredDays } from '@tributary/tables/events/raw-expired'
import type { BatchPlan, ErasedEvents, StoredBatch } from './batch.ts'
import { closing, findErasedClaims } from './erased-claims.ts'
import { findExpired, type MoneyRow } from './find-expired.ts'
import { findNeighbours } from './find-neighbours.ts'
import { findClosedClaims, findReceiptRows } from './find-receipts.ts'
import {
  type ActiveDay,
  type EventToErase,
  findClickRows,
  findDeliveries,
  findEvents,
  findFactRows,
  findIdentities,
  findVerdicts,
  type VerdictRow,
} from './find-rows.ts'
import { deletesOf } from './row-keys.ts'

const rows_max = limits.erasure_rows_max

/** Finds all that one batch takes away; null when nothing of the installs is left. */
export async function planBatch(
  clickhouse: Pick<Clickhouse, 'query'>,
  { app_id, installs, clicks, more_clicks }: Pick<StoredBatch, 'app_id' | 'installs' | 'clicks' | 'more_clicks'>,
): Promise<BatchPlan | null> {
  const events = await findEvents(clickhouse, app_id, installs)
  const expired = await findExpired(clickhouse, app_id, installs, events)
  const expiring = Math.max(expired.money.length, expired.activity.length)
  // Facts and verdicts lead to the clicks: they stay until the last of these has its tombstone.
  const verdicts = more_clicks ? [] : await findVerdicts(clickhouse, app_id, installs)
  const { facts, full } = more_clicks ? { facts: [], full: true } : await findFactRows(clickhouse, app_id, installs)
  const clickRows = await findClickRows(clickhouse, app_id, clicks)
  const isLast = !full && events.length + expiring < rows_max && verdicts.length < rows_max
  const identities = isLast ? await findIdentities(clickhouse, app_id, installs) : []
  const deliveries = await findDeliveries(clickhouse, app_id, installs)
  const receipts = await findReceiptRows(clickhouse, app_id, installs)
  const receiptRows = Object.values(receipts).map((rows) => rows.length)
  const drains = isLast && [identities.length, deliveries.length, ...receiptRows].every((rows) => rows < rows_max)
  const singles =
    expired.keys.length +
    verdicts.length +
    facts.length +
    clickRows.length +
    identities.length +
    deliveries.length +
    sumOf(receiptRows)
  if (events.length + expiring + singles === 0) return null
  const found = { facts: facts.map(({ fact }) => fact), clicks: clickRows }
  const expiredDays = await findExpiredDays(clickhouse, app_id, days(events))
  const deletes = deletesOf({
    events,
    verdicts,
    facts,
    clicks: clickRows,
    identities,
    deliveries,
    receipts,
    expired,
    expiredDays,
  })
  const erased = await findErasedClaims(clickhouse, app_id, [...events, ...expired.money])
  const closed = await findClosedClaims(clickhouse, app_id, installs)
  return {
    drains,
    ...{ deletes: deletes.keys, counts: deletes.counts },
    events: sumEvents(events, expiredDays),
    claims: [...erased.claims, ...closed.map(closing)],
    closed: [...erased.closed, ...closed],
    stamps: stampsOf([...events, ...expired.activity], [...events, ...expired.money], verdicts, clickRows),
    neighbours: await findNeighbours(clickhouse, app_id, installs, found),
  }
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0)

/** What counters take off. Sums and sets of an expired day stay together: nothing tells what else a set has counted. */
function sumEvents(events: readonly EventToErase[], expiredDays: ReadonlySet<string>): ErasedEvents[] {
  const groups = Map.groupBy(events, (event) =>
    JSON.stringify([event.day, event.event_name, event.currency, event.received_day, event.topic, event.partition]),
  )
  return [...groups.values()].map((of) => {
    const { day, event_name, currency, received_day, topic, partition } = of[0]!
    const counted = expiredDays.has(day) ? [] : of
    const micros = counted.reduce((sum, { revenue_micros }) => sum + BigInt(revenue_micros), 0n)
    return {
      ...{ day, event_name, currency, received_day, topic, partition },
      ...{ events: counted.length, revenue_micros: `${micros}`, row_keys: of.map(({ row_key }) => row_key) },
    }
  })
}

const days = (rows: readonly { day: string }[]) => [...new Set(rows.map(({ day }) => day))]

function stampsOf(
  active: readonly ActiveDay[],
  money: readonly MoneyRow[],
  verdicts: readonly VerdictRow[],
  clicks: readonly { day: string }[],
): BatchPlan['stamps'] {
  const installs = days(verdicts.filter(({ pending }) => pending === 0))
  return {
    activity: days(active.map(({ active_day }) => ({ day: active_day }))),
    uniques: days(active),
    money: days(money.filter(({ has_money }) => has_money === 1)),
    installs,
    dimensions: installs,
    clicks: days(clicks),
  }
}
