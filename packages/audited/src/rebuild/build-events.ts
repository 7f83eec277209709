import type { AuditStore } from '@tributary/audit-store/audit-store'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { type EventRow, storedEventColumns } from '@tributary/contracts/rows'
import { newestTombstones, type TombstoneStore } from '@tributary/domain/erasure/tombstones'
import { claimRank } from '@tributary/domain/event-key'
import { type LogPosition, toEventRow } from '@tributary/domain/event-row'
import { countMoney, transactionsToLookUp } from '@tributary/domain/money/count-money'
import { createPauses } from '@tributary/service-kit/service/pauses'
import { dropDuplicates, keysToLookUp } from '@tributary/tables/events/drop-duplicates'
import { findEventKeys } from '@tributary/tables/events/event-keys'
import { type RawExpired, readRawExpired } from '@tributary/tables/events/raw-expired'
import { findTransactionClaims } from '@tributary/tables/money/transaction-keys'
import type { AppFacts } from '@tributary/tenancy/companies/tenants'
import { findMissing, type Missing } from '../missing-events.ts'
import { readAudit } from '../read-audit.ts'
import type { Progress } from '../reading.ts'
import { openStaged } from '../staged.ts'
import { insertInto, type Steps } from './scratch.ts'

export interface BuildEventsDeps {
  live: Pick<Clickhouse, 'query'>
  scratch: Clickhouse
  steps: Steps
  audit: Pick<AuditStore, 'list' | 'get'>
  apps: ReadonlyMap<string, AppFacts>
  tombstones: TombstoneStore
  /** Name of the log of events that the live tables do not have. */
  source: string
  reading: Progress
  signal: AbortSignal
}

/** Events of one insert. */
const insert_events = 20_000
const nowhere: LogPosition = { topic: '', partition: 0, offset: 0 }

/**
 * Fills `events_raw_v1` of the scratch database from the requests of the audit store, and by its views all that follows. The rules are
 * those of event-writer: what was erased is left out, the event received first counts, and of the claims on a transaction in a partition
 * the first best one has its money. An event keeps the log position that the live tables have for its key, because receipts, verdicts and
 * erasures name it by that.
 */
export async function buildEvents(deps: BuildEventsDeps): Promise<void> {
  const { scratch, steps, reading, signal } = deps
  const pause = createPauses()
  const staged = openStaged(pause)
  const write = await openWrite(deps)
  const known = { clickhouse: scratch, reading, pause }
  try {
    await readAudit(
      {
        ...{ audit: deps.audit, apps: deps.apps, since_ms: 0, app_id: undefined, tally: reading, signal, pause },
        isWanted: ({ app_id, day }) => !steps.isRead(app_id, day),
      },
      async (read) => {
        const erased = await newestTombstones(deps.tombstones)
        // Nobody knows what was erased of a locked app: its live rows are carried over, and nothing is added.
        const readable = read.filter(({ envelope }) => !erased.isLocked(envelope.app_id))
        await staged.add(await findMissing({ ...known, erased }, readable))
      },
      async ({ app_id, day }) => {
        let waiting: Missing[] = []
        let events = 0
        for await (const some of staged.take()) {
          waiting.push(...some)
          events += some.reduce((sum, { keys }) => sum + keys.length, 0)
          if (events < insert_events) continue
          await write.next(waiting)
          waiting = []
          events = 0
        }
        await write.next(waiting)
        await write.ended()
        await steps.done(`${app_id}/${day}`)
      },
    )
  } finally {
    // No insert may go on behind the caller. Its failure was thrown above, or another one was.
    await write.ended().catch(() => {})
    staged.close()
  }
}

/**
 * Writes events, those received first in front. A call is one insert; a repeated one finds what is there by its keys. The engine inserts
 * while the next events are read: what depends on earlier rows waits for their insert.
 */
async function openWrite({ live, scratch, source }: BuildEventsDeps) {
  const expired = await readRawExpired(scratch)
  let next = 0
  let inserted = Promise.resolve()

  return {
    /** Begins an insert. Rejects when a look-up, or the insert before it, fails. */
    async next(missing: readonly Missing[]): Promise<void> {
      const rows = missing.flatMap((one) => rowsOf(one, expired))
      if (rows.length === 0) return
      const placeOf = await findPlaces(live, rows)
      await inserted
      const known = await findEventKeys(scratch, keysToLookUp(rows))
      const fresh = dropDuplicates(rows, known, null)
      const placed = fresh.map((row): EventRow => {
        const place = placeOf(row) ?? { topic: source, partition: 0, offset: next++ }
        return { ...row, ...place }
      })
      const counted = await withMoney(scratch, placed)
      inserted = insertInto(scratch, 'events_raw_v1', storedEventColumns, counted.map(lineOf))
      // The next call, or `ended`, rejects with a failure; until then nobody waits for it.
      inserted.catch(() => {})
    },
    /** All rows are there; rejects when the last insert failed. */
    ended: () => inserted,
  }
}

/** Rows of events. Those of expired days are left out: their sums are copied, and nothing else is kept of them. */
function rowsOf({ envelope }: Missing, expired: RawExpired): EventRow[] {
  const first_day = expired.get(envelope.app_id) ?? ''
  return envelope.events.map((event) => toEventRow(envelope, event, nowhere)).filter(({ day }) => day >= first_day)
}

/** Readers of raw rows begin anew after a rebuild, so that any time of storing in the past will do. */
const lineOf = (row: EventRow): string =>
  JSON.stringify(storedEventColumns.map((name) => (name === 'stored_at_ms' ? row.received_at_ms : row[name])))

/** Where the live tables have an event; the first position where they have it twice. */
async function findPlaces(live: Pick<Clickhouse, 'query'>, rows: readonly EventRow[]) {
  const nameOf = ({ app_id, key_day, event_key }: { app_id: string; key_day: string; event_key: string }) =>
    `${app_id}/${key_day}/${event_key}`
  const lookups = rows.map(({ app_id, event_key, key_day }) => ({ app_id, event_key, key_days: [key_day] }))
  const places = new Map<string, LogPosition>()
  for (const { topic, partition, offset, ...key } of await findEventKeys(live, lookups)) {
    const place = { topic, partition, offset }
    const other = places.get(nameOf(key))
    if (other === undefined || comparePlaces(place, other) < 0) places.set(nameOf(key), place)
  }
  return (row: EventRow): LogPosition | undefined => places.get(nameOf(row))
}

const comparePlaces = (a: LogPosition, b: LogPosition): number =>
  a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : a.partition - b.partition || a.offset - b.offset

/** Takes the money of claims that come after a better one of their partition. The sweep cancels those that others beat. */
async function withMoney(scratch: Clickhouse, rows: readonly EventRow[]): Promise<EventRow[]> {
  const claims = await findTransactionClaims(scratch, transactionsToLookUp(rows.map(asClaim)))
  const counted: EventRow[] = []
  for (const of of Map.groupBy(rows, ({ topic, partition }) => `${topic}/${partition}`).values()) {
    const { topic, partition } = of[0]!
    const ordered = of.toSorted((a, b) => a.offset - b.offset).map(asClaim)
    const money = countMoney(ordered, claims, { topic, partition, from: Number.POSITIVE_INFINITY })
    counted.push(...money.rows)
  }
  return counted
}

const asClaim = (row: EventRow) => ({ ...row, claim_rank: claimRank(row.source) })
