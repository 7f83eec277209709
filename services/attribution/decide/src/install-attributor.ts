import type { Broker } from '@tributary/broker/broker'
import { waitUntilRead } from '@tributary/broker/wait-until-read'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { createFailedInserts } from '@tributary/clickhouse/failed-inserts'
import { insertRows } from '@tributary/clickhouse/insert-rows'
import type { DecidedAt } from '@tributary/contracts/attribution/decision'
import { type Fact, Found } from '@tributary/contracts/attribution/found'
import { consumers } from '@tributary/contracts/consumers'
import type { Lookups } from '@tributary/deciding/lookups/lookups'
import { withoutErased } from '@tributary/deciding/lookups/without-erased'
import { isGone, newestTombstones, type TombstoneStore, wasErased } from '@tributary/domain/erasure/tombstones'
import { utcDay } from '@tributary/domain/utc-day'
import type { Geo } from '@tributary/geo/geo'
import {
  type Batch,
  type ConsumerDefinition,
  type DecodedRecord,
  defineConsumer,
} from '@tributary/service-kit/consumer/define-consumer'
import { type FactPlace, factColumns, factLine, hasFact } from '@tributary/tables/attribution/facts'
import { type LastRow, lastRowOf, misfitOfLastRow } from '@tributary/tables/attribution/last-row'
import { tickRecord } from '@tributary/tables/attribution/records'
import type { RedecisionList, Slice, TakenRedecision } from '@tributary/tables/attribution/redecisions'
import type { AttributionApps } from '@tributary/tenancy/attribution/attribution-apps'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { attributorMetrics } from './metrics.ts'
import { type AppDone, decideApp, loadApp, type NamedInstalls } from './steps/decide-app.ts'
import { inRounds } from './steps/in-rounds.ts'
import { createLanded } from './steps/landed.ts'
import { roundsOf } from './steps/rounds.ts'
import type { WriterWait } from './writer-wait.ts'

/** Records of a batch. Each costs look-ups of its own, and the next batch waits until all are decided. */
const batch_records_max = 1000
/** A batch begins with the first record: those that come while it is decided make the next one. */
const fetch_bytes_min = 1
/** JSON of a batch; what strangers may write into a fact is bounded too. */
const batch_bytes_max = 4 * 1024 * 1024
/** Clicks that are late are found by their writer, which has their installs decided again. */
const clicks_wait_ms_max = 2000
/** Re-decisions of a batch: new facts never wait for more than these. */
const slice_entries_max = 64

export interface InstallAttributorDeps {
  broker: Broker
  clickhouse: Pick<Clickhouse, 'insert' | 'query'>
  lookups: Lookups
  redecisions: RedecisionList
  attributionApps: Pick<AttributionApps, 'find'>
  geo: Geo
  /** Tombstones; without them nothing counts as erased. */
  erased?: TombstoneStore
  now: () => number
  registry?: Registry
  logger?: Logger
  wait?: WriterWait
}

/** Decides where installs came from (docs/attribution.md). Deciding happens nowhere else. */
export function installAttributor(deps: InstallAttributorDeps): ConsumerDefinition<Found> {
  const { broker, clickhouse, redecisions, attributionApps, erased, wait, logger } = deps
  const metrics = deps.registry && attributorMetrics(deps.registry)
  const failed = createFailedInserts()
  const withLanded = createLanded()

  return defineConsumer<Found>({
    ...consumers.installAttributor,
    ...(erased && { tombstones: erased }),
    appOf: (found) => (found.kind === 'tick' ? null : found.app_id),
    fetch: { bytes_min: fetch_bytes_min },
    bounds: {
      rows_max: batch_records_max,
      bytes_max: batch_bytes_max,
      measure: (found) => ({ rows: 1, bytes: Buffer.byteLength(JSON.stringify(found)) }),
    },
    decode({ value }) {
      const found = Found.parse(JSON.parse(value.toString()))
      if (found.kind !== 'tick') utcDay(found.received_at_ms) // Throws for a time that has no day.
      return found
    },
    async handle(batch) {
      const { facts, lookups } = withoutGone(batch)
      // 1. Re-decisions are taken, with the numbers of their reasons, before any evidence is read. A crash after it, or
      //    before 7: the next try takes the same ones, so that what this try may still publish is outranked.
      const slice = { partition: batch.partition, name: `${batch.token}/${batch.attempt}` }
      const entries = await takeEntries(batch, slice)
      if (facts.length === 0 && entries.length === 0) return
      // 2. The facts are stored: whoever inserts a click from now on finds these installs. A crash after it: they are
      //    inserted again, and tables of facts are sets. Facts hang on no other consumer: they are loaded at once.
      // 3. Meanwhile what was published before this try comes into the tables: the clicks, or else their writer has
      //    installs decided again; and the verdicts of earlier batches, without which two batches in a row give one click
      //    away twice.
      // 4. to 6. are done for each app alone, those with few installs first: see `decideApp`. Nothing of an app depends on
      //    what is done for another. A crash between two apps: all are decided again, as after 6.
      const open = entries.filter(({ app_id }) => !batch.tombstones.isLocked(app_id))
      const { taken, refused, done } = await whileWaiting(batch, async (waited) => {
        const stored = await store(batch, facts)
        const rounds = roundsOf(
          stored.taken.map(({ value }) => value),
          open,
        )
        return { ...stored, done: await decideInRounds(batch, lookups, rounds, waited) }
      })
      const sum = (count: (one: AppDone) => number) => done.reduce((total, one) => total + count(one), 0)
      const touched = sum((one) => one.touched)
      // 7. What was taken leaves the list, but what has a new reason. A crash after it: the next try takes others.
      const left = entries.length > 0 ? await redecisions.finish(slice, open) : touched > 0
      // 8. The next batch of the partition is there. A crash after it: two batches come, and one may find nothing to do.
      if (left && open.length + touched > 0) await broker.publish([tickRecord(batch.partition)])
      for (const { reason, count } of done.flatMap((one) => one.dropped)) batch.dropped(reason, count)
      metrics?.redecisions.inc(touched)
      batch.written(sum((one) => one.published))
      failed.forget(batch.token)
      for (const { record } of refused) batch.dead(record, 'row_refused')
      const last = taken.at(-1)
      batch.keep({ last: last ? placeOf(last.value) : lastRowOf(batch.state) } satisfies LastRow<FactPlace>)
    },
    findMisfit: (at) => misfitOfLastRow<FactPlace>(at, { hasRow: hasOrErased }),
  })

  /** A row that was erased is no sign of a table that was put back. */
  async function hasOrErased(last: FactPlace): Promise<boolean> {
    if (await hasFact(clickhouse, last)) return true
    return wasErased(await newestTombstones(erased), last)
  }

  /** The facts of a batch but for those that were erased, and look-ups that find nothing of what was. */
  function withoutGone({ records, tombstones, dropped }: Batch<Found>) {
    const all = records.filter(isFact)
    const facts = all.filter(({ value }) => !isGone(tombstones, value))
    dropped('erased', all.length - facts.length)
    return { facts, lookups: withoutErased(deps.lookups, tombstones) }
  }

  /** Only the owner of the partition goes on: a later one takes what this one took, and finishes it. */
  async function takeEntries({ signal, fence }: Batch<Found>, slice: Slice): Promise<TakenRedecision[]> {
    const entries = await redecisions.take(slice, slice_entries_max)
    if (entries.length === 0) return entries
    signal.throwIfAborted()
    await fence()
    return entries
  }

  async function timed<T>(step: string, work: () => Promise<T>): Promise<T> {
    const end = metrics?.seconds.startTimer({ step })
    const done = await work()
    end?.()
    return done
  }

  /** Works while it waits for the other consumers. The work must await `waited`; the wait ends with this call. */
  async function whileWaiting<T>(
    { signal: stop, topic, partition }: Batch<Found>,
    work: (waited: Promise<unknown>) => Promise<T>,
  ): Promise<T> {
    const over = new AbortController()
    const signal = AbortSignal.any([stop, over.signal])
    const waited = timed('wait', () =>
      Promise.all([
        waitUntilRead(consumers.clickWriter, { broker, signal, wait_ms_max: clicks_wait_ms_max }),
        waitForVerdicts(broker, signal, `${topic}/${partition}`, wait),
      ]),
    )
    // The work hears it once it awaits it.
    waited.catch(() => {})
    try {
      return await work(waited)
    } finally {
      over.abort()
    }
  }

  /** Refused facts decide nothing. */
  async function store(batch: Batch<Found>, facts: readonly DecodedRecord<Fact>[]) {
    const refused = await timed('store', () => insertFacts(batch, facts))
    return { refused, taken: facts.filter((one) => !refused.has(one)) }
  }

  async function decideInRounds(
    batch: Batch<Found>,
    lookups: Lookups,
    rounds: readonly NamedInstalls[][],
    waited: Promise<unknown>,
  ): Promise<AppDone[]> {
    const { source, to, attempt, tombstones, signal } = batch
    const decided_at: DecidedAt = { log: source, offset: to, try: attempt }
    return withLanded(batch, (landed) =>
      inRounds(rounds, {
        load: (app) => loadApp(attributionApps, lookups, tombstones, app),
        decide: (app) => decideApp(deps, lookups, app, { decided_at, landed }),
        ...{ waited, signal, timed },
      }),
    )
  }

  /** Gives back the facts that ClickHouse can't take; nothing is decided by them. */
  async function insertFacts(
    { token, attempt }: Batch<Found>,
    facts: readonly DecodedRecord<Fact>[],
  ): Promise<Set<DecodedRecord<Fact>>> {
    if (facts.length === 0) return new Set()
    const into = { table: 'install_facts_v1', columns: factColumns }
    const options = { clickhouse, failed, into, token, attempt }
    const refused = await insertRows(facts, ({ value }) => factLine(value), options)
    for (const { row, err } of refused) {
      const { topic, partition, offset } = row.record
      logger?.error({ err, topic, partition, offset }, 'fact refused by ClickHouse, put into the dead-letter topic')
    }
    return new Set(refused.map(({ row }) => row))
  }

  async function waitForVerdicts(
    broker: Broker,
    signal: AbortSignal,
    partition_name: string,
    wait: WriterWait | undefined,
  ) {
    try {
      await waitUntilRead(consumers.installWriter, {
        broker,
        signal,
        onWait: (ms) => wait?.waiting(partition_name, ms),
      })
    } finally {
      wait?.over(partition_name)
    }
  }
}

const isFact = (one: DecodedRecord<Found>): one is DecodedRecord<Fact> => one.value.kind !== 'tick'

const placeOf = ({ app_id, install_uuid, place }: Fact): FactPlace => ({ app_id, install_uuid, ...place })
