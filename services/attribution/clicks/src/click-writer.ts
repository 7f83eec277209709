import type { AuditStore } from '@tributary/audit-store/audit-store'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { createFailedInserts } from '@tributary/clickhouse/failed-inserts'
import { insertRows } from '@tributary/clickhouse/insert-rows'
import { ClickRecorded } from '@tributary/contracts/attribution/click'
import type { KeptClick } from '@tributary/contracts/attribution/decision'
import { consumers } from '@tributary/contracts/consumers'
import { limits } from '@tributary/contracts/limits'
import {
  newestTombstones,
  type TombstoneStore,
  type Tombstones,
  wasClickErased,
} from '@tributary/domain/erasure/tombstones'
import { utcDay } from '@tributary/domain/utc-day'
import type { LateDays } from '@tributary/erasure/late-days'
import {
  type ConsumerDefinition,
  type DecodedRecord,
  defineConsumer,
} from '@tributary/service-kit/consumer/define-consumer'
import type { StampStore } from '@tributary/service-kit/consumer/stamps'
import { archiveClicks } from '@tributary/tables/attribution/click-archive'
import {
  type ClickPlace,
  clickLine,
  hasClick,
  hasClicksBehind,
  storedClickColumns,
} from '@tributary/tables/attribution/clicks'
import { type LastRow, lastRowOf, misfitOfLastRow } from '@tributary/tables/attribution/last-row'
import type { RedecisionList } from '@tributary/tables/attribution/redecisions'
import { findClickStamps } from '@tributary/tables/raw/click-stamps'
import type { AttributionApp, AttributionApps } from '@tributary/tenancy/attribution/attribution-apps'
import type { Logger } from 'pino'
import { Counter, Histogram, type Registry } from 'prom-client'
import { findRedecisions } from './late-clicks.ts'

/** A click as the log has it. */
interface RecordedClick {
  click: KeptClick
  /** Its row. */
  line: string
  /**
   * An archive has it: another one would keep it, and its address, longer than retention allows
   * (docs/decisions/log.md#a-replayed-click-is-not-archived-again).
   */
  archived: boolean
}

/** Shorter than by default, because a batch of installs waits for the clicks before it. */
const linger_ms = 200

/** Days and clocks differ by less. */
const expiring_ms = 2 * 24 * 3600 * 1000

/** The steps that a crash may follow, in order; see the numbered comments of `handle`. */
export type ClickStep = 1 | 2 | 3

export interface ClickWriterDeps {
  clickhouse: Clickhouse
  audit: Pick<AuditStore, 'putOnce'>
  /** Knows of archives that come under days which retention may have blanked. */
  late: LateDays
  attributionApps: Pick<AttributionApps, 'find'>
  redecisions: Pick<RedecisionList, 'add'>
  /** Tombstones; without them no click counts as erased. */
  erased?: TombstoneStore
  /** Times of storing; without them they are 0. */
  stamps?: StampStore
  now(): number
  registry?: Registry
  logger?: Logger
  /** Tests have it called after each numbered step; throwing is the crash. */
  crash?(step: ClickStep): void | Promise<void>
}

/**
 * Writes recorded clicks to `clicks_raw_v1`, archives them, and has installs decided again that they concern. The table is a
 * set, an archive has the name of its batch, and an install that is decided twice gets the same: a repeated batch is harmless.
 */
export function clickWriter(deps: ClickWriterDeps): ConsumerDefinition<RecordedClick> {
  const {
    clickhouse,
    audit,
    late,
    attributionApps: apps,
    redecisions,
    erased,
    stamps,
    now,
    registry,
    logger,
    crash = () => {},
  } = deps
  const failed = createFailedInserts()
  const seconds = registry && stepSeconds(registry)
  const added = registry && redecisionsTotal(registry)
  async function timed<T>(step: string, work: () => Promise<T>): Promise<T> {
    const end = seconds?.startTimer({ step })
    const done = await work()
    end?.()
    return done
  }

  async function addRedecisions(clicks: readonly KeptClick[], tombstones: Tombstones): Promise<void> {
    for await (const installs of findRedecisions({ clickhouse, apps, tombstones }, clicks)) {
      await redecisions.add(installs)
      for (const { reason } of installs) added?.inc({ reason })
    }
  }

  return defineConsumer({
    ...consumers.clickWriter,
    ...(erased && { tombstones: erased }),
    ...(stamps && { stamps }),
    appOf: ({ click }) => click.app_id,
    fetch: { wait_ms_max: linger_ms },
    bounds: {
      rows_max: limits.click_batch_rows_max,
      bytes_max: limits.click_batch_bytes_max,
      measure: ({ line }) => ({ rows: 1, bytes: Buffer.byteLength(line) }),
    },
    decode({ partition, offset, value }, source) {
      const place = { topic: source, partition, offset, index: 0 }
      const { archived = false, ...click } = ClickRecorded.parse(JSON.parse(value.toString()))
      return { click: { ...click, place }, line: clickLine(click, place), archived }
    },
    async handle(batch) {
      const { source, partition, from, to, token, attempt, tombstones, stored_at_ms, dead, written, state, keep } =
        batch
      const records = batch.records.filter(({ value }) => !isErased(value, tombstones))
      batch.dropped('erased', batch.records.length - records.length)
      const clicks = records.map(({ value }) => value.click)
      const unarchived = records.filter(({ value }) => !value.archived)

      // 1. The archives are durable, one of each day: whoever looks for a click later looks at its day. A crash now: the next
      //    owner puts the same clicks under the same names, and finds them.
      for (const [day, ofDay] of Map.groupBy(unarchived, ({ record }) => utcDay(record.timestamp_ms))) {
        const range = { source, partition, from, to, day }
        const kept = ofDay.map(({ value }) => value.click)
        await late.note(new Set(kept.map(({ app_id }) => app_id)), day)
        await timed('archive', () => archiveClicks(audit, range, kept))
      }
      await crash(1)

      // 2. The clicks are in their table and its look-up. A crash now: they are inserted again, into sets. A click that was
      //    replayed keeps the time at which it was stored first: readers of raw rows have it already.
      const stampOf = await timed('stamps', () => findClickStamps(clickhouse, clicks, stored_at_ms))
      const into = { table: 'clicks_raw_v1', columns: storedClickColumns }
      const lineOf = ({ value }: DecodedRecord<RecordedClick>) => `${value.line.slice(0, -1)},${stampOf(value.click)}]`
      const refused = await timed('insert', () =>
        insertRows(records, lineOf, { clickhouse, failed, into, token, attempt }),
      )
      await crash(2)

      // 3. Facts that were stored before are found only now: install-attributor stores facts before it looks for clicks,
      //    so one of the two sees the other. The list has them before the commit, or `status --wait` would miss them.
      //    A crash now: they are added again, and decided the same again.
      await timed('look_up', () => addRedecisions(clicks, tombstones))
      await crash(3)

      failed.forget(token)
      for (const { row, err } of refused) {
        const { record } = row
        const { topic, partition, offset } = record
        logger?.error({ err, topic, partition, offset }, 'click refused by ClickHouse, put into the dead-letter topic')
        dead(record, 'row_refused')
      }
      written(clicks.length - refused.length)
      const dropped = new Set(refused.map(({ row }) => row))
      const taken = records.findLast((one) => !dropped.has(one))
      keep({ last: taken === undefined ? lastRowOf(state) : placeOf(taken) } satisfies LastRow<ClickPlace>)
    },
    findMisfit: (at) =>
      misfitOfLastRow<ClickPlace>(at, {
        hasRow: async (last) =>
          isExpiring(last, await apps.find(last.app_id), now()) ||
          (await hasClick(clickhouse, last)) ||
          wasClickErased(await newestTombstones(erased), last),
        hasRowsBehind: (offset, last) => hasClicksBehind(clickhouse, at, offset, last),
      }),
  })
}

const placeOf = ({ record, value }: DecodedRecord<RecordedClick>): ClickPlace => {
  const { app_id, click_id, clicked_at_ms } = value.click
  return { app_id, click_id, clicked_at_ms, offset: record.offset }
}

const isErased = ({ click: { app_id, click_id } }: RecordedClick, tombstones: Tombstones): boolean =>
  tombstones.isErasedClick(app_id, click_id)

/** Retention deleted it, or ClickHouse may have dropped it by its own clock, or does so soon. */
const isExpiring = ({ clicked_at_ms }: ClickPlace, app: AttributionApp | null, now_ms: number): boolean =>
  clicked_at_ms < (app?.clicks_deleted_before_ms ?? 0) || clicked_at_ms + limits.click_kept_ms - expiring_ms < now_ms

const stepSeconds = (registry: Registry) =>
  new Histogram({
    name: 'tributary_click_writer_step_seconds',
    help: 'What a batch of clicks waited for.',
    labelNames: ['step'],
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30],
    registers: [registry],
  })

const redecisionsTotal = (registry: Registry) =>
  new Counter({
    name: 'tributary_click_writer_redecisions_total',
    help: 'Installs that are decided again because of clicks that came late.',
    labelNames: ['reason'],
    registers: [registry],
  })
