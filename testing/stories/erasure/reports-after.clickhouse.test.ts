import { installPartition } from '@tributary/broker/partition'
import { day_ms } from '@tributary/contracts/limits'
import { reportNames } from '@tributary/contracts/reports'
import { isErased as isCovered } from '@tributary/domain/erasure/is-erased'
import { runRetention } from '@tributary/retention/run-retention'
import { afterErasure } from '@tributary/testing/oracle/erased'
import type { History, SentEvent } from '@tributary/testing/oracle/history'
import { midnight } from '@tributary/testing/oracle/history'
import { first_ms, partitions, randomHistory, randomRates } from '@tributary/testing/oracle/random-history'
import { randomQuestion } from '@tributary/testing/oracle/random-question'
import { roundsOf } from '@tributary/testing/rounds'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ErasureStage, mark_ms, openErasureStage } from './stage.ts'

const histories = roundsOf(1)
const written_together = Math.min(2, histories)
const run_ms_max = 150_000 + histories * 15_000

let stage: ErasureStage
beforeAll(async () => {
  stage = await openErasureStage()
})
afterAll(() => stage.close())

const names = reportNames.filter((name) => name !== 'skan' && name !== 'costs')
/** It begins and ends at midnight: a window takes the whole of a day whose raw events have expired. */
const all = { since_ms: first_ms - 5 * day_ms, until_ms: midnight(mark_ms, 50) }

const randomPlan = fc.record({
  history: randomHistory,
  /** What comes after the erasure, as a life of its own: of the same installs, transactions and event ids. */
  later: randomHistory,
  erased: fc.subarray(['a', 'b', 'c', 'd', 'e'], { minLength: 1 }),
  /** Retention then keeps raw events of so many days before `retention_ms`; null: all of them. */
  keep_raw_days: fc.constantFrom(null, 1, 20, 50),
  rates: randomRates,
  question: randomQuestion,
})
type Plan = typeof randomPlan extends fc.Arbitrary<infer Value> ? Value : never

/** When retention runs: all that a history has was received before. */
const retention_ms = mark_ms + 60 * day_ms

/** A life that begins after the mark, on its day or later. A clock that is behind receives some of it before the mark. */
const movedOn = ({ events, decisions }: History): History => {
  const by_ms = mark_ms - first_ms + 5 * day_ms
  return {
    events: events.map((event) => {
      const isBehind = event.event_id === '8'
      const received_at_ms = isBehind ? mark_ms - 5 : event.received_at_ms + by_ms
      const times = event.untimed
        ? { event_ts_ms: received_at_ms, sent_at_ms: mark_ms + 30 * day_ms }
        : { event_ts_ms: event.event_ts_ms + by_ms }
      return { ...event, received_at_ms, ...times }
    }),
    decisions: decisions.map((one) => ({ ...one, installed_at_ms: one.installed_at_ms + by_ms })),
  }
}

async function prepare({ history, later, ...rest }: Plan) {
  const app_id = await stage.makeApp()
  // The end of the log at an erasure is that of the partition where the install belongs.
  const placed = ({ events, decisions }: History): History => ({
    events: events.map((event) => ({
      ...event,
      partition: installPartition(app_id, event.install_uuid, partitions),
    })),
    decisions,
  })
  const plan = { ...rest, history: placed(history) }
  const isErased = ({ install_uuid }: { install_uuid: string }) => plan.erased.includes(install_uuid)
  // Decisions of the first life were received before the mark: install-writer drops by that.
  const isDropped = (event: SentEvent) =>
    isErased(event) && isCovered({ ...event, event_ts_ms: event.untimed ? undefined : event.event_ts_ms }, mark_ms)
  return { plan, app_id, isErased, isDropped, later: placed(movedOn(later)) }
}
type Prepared = Awaited<ReturnType<typeof prepare>>

const write = (prepared: readonly Prepared[], part: (one: Prepared) => History) =>
  stage.write(
    {
      events: prepared.flatMap((one, app) => part(one).events.map((event) => ({ ...event, app }))),
      decisions: prepared.flatMap((one, app) =>
        part(one).decisions.map((d, place) => ({ ...d, app, place: place + offsetOf(one, part) })),
      ),
    },
    prepared.map(({ app_id }) => app_id),
  )
const offsetOf = (one: Prepared, part: (one: Prepared) => History) => (part(one) === one.later ? 1000 : 0)

/**
 * An event as a client sends it again later. Without a time of its own it would be another event then, and one that was dropped would
 * be part of the new life.
 */
const resent = ({ isDropped }: Prepared, event: SentEvent): SentEvent =>
  event.untimed || isDropped(event) ? event : { ...event, received_at_ms: event.received_at_ms + day_ms }

/** Lets raw events expire, by the settings of each company. */
async function expire(prepared: readonly Prepared[]): Promise<void> {
  for (const { app_id, plan } of prepared)
    await stage.pool.query(
      'UPDATE companies SET keep_raw_days = $2 WHERE company_id = (SELECT company_id FROM apps WHERE app_id = $1)',
      [app_id, plan.keep_raw_days],
    )
  const { pool, clickhouse, broker } = stage
  const deps = { pool, clickhouse, broker, audit: memoryAuditStore(), logger: pino({ level: 'silent' }) }
  const done = await runRetention(
    { ...deps, now: () => retention_ms, wait_ms: 20, pause: async () => {} },
    new AbortController().signal,
  )
  expect(done, 'no eraser runs').toEqual(expect.not.objectContaining({ raw_waits: true }))
}

async function check(
  prepared: readonly Prepared[],
  historyOf: (one: Prepared) => History,
  note: string,
  with_questions = true,
) {
  for (const one of prepared) {
    stage.setRates(one.plan.rates)
    const history = historyOf(one)
    const erased = { history, app: 0, app_id: one.app_id, note: `${note}, erased ${one.plan.erased}` }
    for (const name of names) {
      await stage.compare(erased, name, all)
      if (with_questions) await stage.compare(erased, name, one.plan.question(one.plan.history, name))
    }
  }
}

test(
  'every report equals loops over what remains, whatever was erased, wherever the eraser was killed, and whatever comes later',
  async () => {
    let compared = 0
    const plans = fc.array(randomPlan, { minLength: written_together, maxLength: written_together })
    const kills = fc.array(fc.nat(70), { maxLength: 3 })
    const property = fc.asyncProperty(plans, kills, fc.boolean(), async (given, steps, twice) => {
      const prepared = await Promise.all(given.map(prepare))
      await write(prepared, ({ plan }) => plan.history)
      await stage.settle()
      for (const { app_id, plan } of prepared) await stage.request(app_id, plan.erased)
      await stage.runKilledAt(twice ? steps.flatMap((step) => [step, step]) : steps)
      const remaining = (one: Prepared) => afterErasure(one.plan.history, one.isErased)
      await check(prepared, remaining, 'after the erasure')
      await stage.settle()
      await check(prepared, remaining, 'settled after the erasure', false)
      // What was erased comes again, as a replay or a client that repeats itself would bring it.
      await write(prepared, ({ plan }) => ({ events: plan.history.events, decisions: [] }))
      await check(prepared, remaining, 'sent again', false)
      await write(prepared, ({ later }) => later)
      const withLater = (one: Prepared) => afterErasure(one.plan.history, one.isErased, one.later, one.isDropped)
      await check(prepared, withLater, 'with a new life')
      await expire(prepared)
      await check(prepared, withLater, 'with a new life whose raw events expired', false)
      await write(prepared, (one) => ({ events: one.later.events.map((event) => resent(one, event)), decisions: [] }))
      await check(prepared, withLater, 'with a new life whose raw events expired, sent again', false)
      compared += prepared.length
    })
    await fc.assert(property, {
      numRuns: Math.ceil(histories / written_together),
      interruptAfterTimeLimit: run_ms_max,
      async asyncReporter({ counterexample, seed, counterexamplePath, errorInstance }) {
        if (counterexample !== null) throw new Error(`seed ${seed}, path ${counterexamplePath}: ${errorInstance}`)
      },
    })
    expect(compared).toBeGreaterThanOrEqual(histories)
  },
  run_ms_max + 60_000,
)
