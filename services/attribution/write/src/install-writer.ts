import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { createFailedInserts } from '@tributary/clickhouse/failed-inserts'
import { Decision } from '@tributary/contracts/attribution/decision'
import { consumers } from '@tributary/contracts/consumers'
import { isGone, newestTombstones, type TombstoneStore, wasErased } from '@tributary/domain/erasure/tombstones'
import { utcDay } from '@tributary/domain/utc-day'
import { type Batch, type ConsumerDefinition, defineConsumer } from '@tributary/service-kit/consumer/define-consumer'
import type { StampStore } from '@tributary/service-kit/consumer/stamps'
import {
  hasInstallRow,
  hasInstallRowsBehind,
  type InstallRow,
  type RowPlace,
} from '@tributary/tables/attribution/install-rows'
import { type LastRow, lastRowOf, misfitOfLastRow } from '@tributary/tables/attribution/last-row'
import { findNewestOf, installName } from '@tributary/tables/attribution/verdicts'
import { bumpMoneyDays } from '@tributary/tables/settled/bump-stamps'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { completeOlderLog } from './complete-older-log.ts'
import type { InstallDecisions } from './follow-decisions.ts'
import { installMetrics } from './metrics.ts'
import { type WrittenInstalls, writeInstalls } from './write-installs.ts'

/** Bounds of a batch. It is one block, so ClickHouse holds all of it in memory; a decision makes at most two rows. */
const batch_records_max = 4000
const batch_bytes_max = 8 * 1024 * 1024

/** The attributor publishes the decisions of a batch at once: waiting for more finds none, and the attributor waits too. */
const fetch_bytes_min = 1

export interface InstallWriterDeps {
  clickhouse: Clickhouse
  /** Tombstones; without them nothing counts as erased. */
  erased?: TombstoneStore
  /** Times of storing; without them they are 0. */
  stamps?: StampStore
  now(): number
  registry?: Registry
  logger?: Logger
}

/** A decision and the bytes of its record. */
interface DecodedDecision {
  decision: Decision
  bytes: number
}

/**
 * Writes decisions to `installs_v1`: each decision that replaces another cancels its row and adds one of its own, so that the
 * signs of an install sum up to 0 or 1 (docs/decisions/attribution.md#rows-of-verdicts-follow-from-the-log). What a batch writes follows
 * from the records of the log up to it, and from nothing else.
 */
export function installWriter({
  clickhouse,
  erased,
  stamps,
  now,
  registry,
  logger,
}: InstallWriterDeps): ConsumerDefinition<DecodedDecision> {
  const metrics = registry && installMetrics(registry)
  const failed = createFailedInserts()
  const begun = new Map<number, string>()

  return defineConsumer({
    ...consumers.installWriter,
    ...(erased && { tombstones: erased }),
    ...(stamps && { stamps }),
    appOf: ({ decision }) => decision.app_id,
    fetch: { bytes_min: fetch_bytes_min },
    bounds: {
      rows_max: batch_records_max,
      bytes_max: batch_bytes_max,
      measure: ({ bytes }) => ({ rows: 1, bytes }),
    },
    decode({ value }) {
      const decision = Decision.parse(JSON.parse(value.toString()))
      utcDay(decision.installed_at_ms) // Throws for a time that has no day.
      return { decision, bytes: value.length }
    },
    async handle(batch) {
      // 1. First batch of a log: inserts of an older log are over, and views have its last rows. A crash now: done again.
      if (batch.state === undefined && begun.get(batch.partition) !== batch.source) {
        await completeOlderLog(clickhouse, batch, batch_records_max)
        begun.set(batch.partition, batch.source)
      }
      // 2. What earlier batches wrote is known. Rows of this batch, which an earlier try may have left, do not count.
      const received = batch.records
        .map(({ record, value }) => ({ record, decision: value.decision }))
        .filter(({ decision }) => !isGone(batch.tombstones, decision))
      batch.dropped('erased', batch.records.length - received.length)
      // 3. Meanwhile settled money of these installs is known to be old. A crash now, or after 4: it is worked out live until 5.
      const decisions = received.map(({ decision }) => decision)
      const [installs] = await Promise.all([
        groupByInstall(clickhouse, batch, received),
        bumpMoneyDays(clickhouse, decisions),
      ])
      // 4. The rows are in the table and in its views. A crash now, or within: the same rows are inserted again, and a set
      //    takes each once. Readers see the old decision or the new one, never both and never none.
      const found = await writeInstalls(installs, { clickhouse, failed, batch })
      failed.forget(batch.token)
      // 5. The same again: a settler may have worked days out between 3 and 4. A crash before it: the batch comes again.
      await bumpMoneyDays(clickhouse, decisions)
      // 6. Refused records become dead letters, and the offset is committed with the last row, by the kit.
      report(batch, found, logger)
      metrics?.observe(found.replacements, now())
    },
    findMisfit: (at) =>
      misfitOfLastRow<RowPlace>(at, {
        hasRow: async (last) =>
          (await hasInstallRow(clickhouse, at, last)) || wasErased(await newestTombstones(erased), last),
        hasRowsBehind: (offset) => hasInstallRowsBehind(clickhouse, at, offset),
      }),
  })
}

/**
 * A decision on an erased life counts as not written: no row cancels it, since the eraser removes what it counted
 * (docs/decisions/erasure.md#an-erased-life-is-not-found).
 */
async function groupByInstall(
  clickhouse: Clickhouse,
  batch: Batch<DecodedDecision>,
  received: InstallDecisions['received'],
): Promise<InstallDecisions[]> {
  const below = { topic: batch.source, offset: batch.from }
  const decisions = received.map(({ decision }) => decision)
  const written = await findNewestOf(clickhouse, decisions, below)
  const grouped = Map.groupBy(received, ({ decision }) => installName(decision))
  return [...grouped].map(([name, of]) => {
    const before = written.get(name)?.decision ?? null
    return { written: before !== null && isGone(batch.tombstones, before) ? null : before, received: of }
  })
}

function report(batch: Batch<DecodedDecision>, { replacements, ignored, refused }: WrittenInstalls, logger?: Logger) {
  for (const reason of ['behind', 'unchanged'] as const) {
    batch.dropped(reason, ignored.filter((one) => one === reason).length)
  }
  for (const { record, err } of refused) {
    const { topic, partition, offset } = record
    logger?.error({ err, topic, partition, offset }, 'row refused by ClickHouse, record put into the dead-letter topic')
    batch.dead(record, 'row_refused')
  }
  const rows = replacements.flatMap((one) => one.rows)
  batch.written(rows.length)
  batch.keep({ last: lastOf(rows) ?? lastRowOf(batch.state) } satisfies LastRow<RowPlace>)
}

/** The row of the last record; null without rows. */
function lastOf(rows: readonly InstallRow[]): RowPlace | null {
  if (rows.length === 0) return null
  const { decision, place } = rows.reduce((last, one) => (one.place.offset > last.place.offset ? one : last))
  return { app_id: decision.app_id, install_uuid: decision.install_uuid, offset: place.offset }
}
