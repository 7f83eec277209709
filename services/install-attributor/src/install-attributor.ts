import { factColumns, factLine } from '@tributary/attribution/facts'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { DecidedAt } from '@tributary/contracts/attribution/decision'
import { type Fact, Found } from '@tributary/contracts/attribution/found'
import { consumers } from '@tributary/contracts/consumers'
import { utcDay } from '@tributary/domain/utc-day'
import type { Geo } from '@tributary/geo/geo'
import { type Batch, type ConsumerDefinition, defineConsumer } from '@tributary/service-kit/consumer/define-consumer'
import type { AttributionApps } from '@tributary/tenancy/attribution/attribution-apps'
import { Semaphore } from 'async-mutex'
import type { Registry } from 'prom-client'
import type { Lookups } from './lookups/lookups.ts'
import { attributorMetrics } from './metrics.ts'
import { decideInOrder } from './steps/decide-in-order.ts'
import { loadEvidence } from './steps/evidence.ts'
import { findWishes } from './steps/find-wishes.ts'
import { publishDecisions, publishWishes } from './steps/publish.ts'
import { waitUntilRead } from './steps/read-before.ts'
import type { WriterWait } from './writer-wait.ts'

/** Records of a batch. Each costs look-ups of its own, and the verdicts of a batch are seen when all are decided. */
const batch_records_max = 1000
/** JSON of a batch; what strangers may write into a fact is bounded too. */
const batch_bytes_max = 4 * 1024 * 1024
/** Apps of a batch that are decided at the same time; each waits for some ten statements. */
const apps_at_once = 4
/** Clicks that are late are found by their writer, which then publishes wishes. */
const clicks_wait_ms_max = 2000

export interface InstallAttributorDeps {
  broker: Broker
  clickhouse: Pick<Clickhouse, 'insert'>
  lookups: Lookups
  attributionApps: Pick<AttributionApps, 'find'>
  geo: Geo
  now: () => number
  registry?: Registry
  wait?: WriterWait
}

/** Decides where installs came from (docs/attribution.md). Deciding happens nowhere else. */
export function installAttributor(deps: InstallAttributorDeps): ConsumerDefinition<Found> {
  const { broker, clickhouse, attributionApps, wait } = deps
  const metrics = deps.registry && attributorMetrics(deps.registry)
  const places = new Semaphore(apps_at_once)

  return defineConsumer<Found>({
    ...consumers.installAttributor,
    bounds: {
      rows_max: batch_records_max,
      bytes_max: batch_bytes_max,
      measure: (found) => ({ rows: 1, bytes: Buffer.byteLength(JSON.stringify(found)) }),
    },
    decode(value) {
      const found = Found.parse(JSON.parse(value.toString()))
      if (found.kind !== 'wish') utcDay(found.received_at_ms) // Throws for a time that has no day.
      return found
    },
    async handle(batch) {
      const found = batch.records.map(({ value }) => value)
      const facts = found.filter((one) => one.kind !== 'wish')
      const { signal } = batch
      // 1. The facts are stored: whoever inserts a click from now on finds these installs. A crash after it: they are
      //    inserted again, and tables of facts are sets.
      if (facts.length > 0) await insertFacts(clickhouse, batch, facts)
      // 2. What was published before this try is in the tables: the clicks, or else their writer makes wishes; and the
      //    verdicts of earlier batches, without which two batches in a row give one click away twice.
      const waited = metrics?.seconds.startTimer({ step: 'wait' })
      await Promise.all([
        waitUntilRead(consumers.clickWriter, { broker, signal, wait_ms_max: clicks_wait_ms_max }),
        waitForVerdicts(broker, signal, `${batch.topic}/${batch.partition}`, wait),
      ])
      waited?.()
      // 3. The installs are decided, in memory only.
      const decided_at: DecidedAt = { log: batch.source, offset: batch.to, try: batch.begun }
      const byApp = [...Map.groupBy(found, ({ app_id }) => app_id)]
      const worked = metrics?.seconds.startTimer({ step: 'decide' })
      const done = await Promise.all(
        byApp.map(([app_id, of]) => places.runExclusive(() => decideApp(deps, app_id, of, decided_at))),
      )
      worked?.()
      const { decisions, wishes } = {
        decisions: done.flatMap((one) => one.decisions),
        wishes: done.flatMap((one) => one.wishes),
      }
      // 4. The wishes are durable. They stand behind this batch in the same partition. They come before the decisions: a
      //    try that finds its own decision written finds nothing changed, and would publish no wish.
      await publishWishes(broker, wishes)
      // 5. The decisions are durable. A crash after it: the batch is decided again, under a higher number of the try.
      await publishDecisions(broker, decisions)
      for (const { reason, count } of done.flatMap((one) => one.dropped)) batch.dropped(reason, count)
      metrics?.wishes.inc(wishes.length)
      batch.written(decisions.length)
    },
  })

  async function waitForVerdicts(broker: Broker, signal: AbortSignal, place: string, wait: WriterWait | undefined) {
    try {
      await waitUntilRead(consumers.installWriter, { broker, signal, onWait: (ms) => wait?.waiting(place, ms) })
    } finally {
      wait?.over(place)
    }
  }

  async function decideApp(
    { lookups, geo, now }: InstallAttributorDeps,
    app_id: string,
    found: readonly Found[],
    decided_at: DecidedAt,
  ) {
    const app = await attributionApps.find(app_id)
    if (app === null) {
      return { decisions: [], wishes: [], dropped: [{ reason: 'unknown_app', count: found.length }] }
    }
    const facts = found.filter((one): one is Fact => one.kind !== 'wish')
    const wished = new Set(found.flatMap((one) => (one.kind === 'wish' ? one.install_uuid : [])))
    const work = { app, facts, wished }
    const evidence = await loadEvidence(lookups, geo, work)
    const decided_at_ms = now()
    const decided = decideInOrder(evidence, decided_at_ms)
    const wishes = await findWishes(lookups, work, evidence, decided)
    // From the second try on also what changes nothing: a decision of a try that sleeps may still land.
    const told = decided.filter(({ changed }) => changed || decided_at.try > 1)
    const known = new Set(decided.map(({ install }) => install.install_uuid))
    const unknown = [...wished].filter((uuid) => !known.has(uuid)).length
    return {
      decisions: told.map((one) => ({ ...one.decided, decided_at_ms, decided_at })),
      wishes,
      dropped: [
        { reason: 'no_install', count: unknown },
        { reason: 'unchanged', count: decided.length - told.length },
      ].filter(({ count }) => count > 0),
    }
  }
}

const insertFacts = (clickhouse: Pick<Clickhouse, 'insert'>, batch: Batch<Found>, facts: readonly Fact[]) =>
  clickhouse.insert({
    table: 'install_facts_v1',
    columns: factColumns,
    lines: facts.map(factLine).join('\n'),
    token: `${batch.token}/facts`,
    tries: batch.tries,
  })
