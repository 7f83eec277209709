import { randomBytes } from 'node:crypto'
import { day_ms } from '@tributary/contracts/limits'
import { type ReportName, reportNames } from '@tributary/contracts/reports'
import { freezeClicks } from '@tributary/tables/attribution/frozen-clicks'
import { insertInstalls, installRows } from '@tributary/testing/engines/insert-verdicts'
import { expectedReports } from '@tributary/testing/oracle/expected-reports'
import { dayOf, type History } from '@tributary/testing/oracle/history'
import type { Question } from '@tributary/testing/oracle/question'
import { first_ms, now_ms, randomHistory, randomRates } from '@tributary/testing/oracle/random-history'
import { randomQuestion } from '@tributary/testing/oracle/random-question'
import { roundsOf } from '@tributary/testing/rounds'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newAppId, openReportStage, type PlacedDecision, type ReportStage } from './stage.ts'

const histories = roundsOf(5)
/** Histories that are written together, each with an app of its own. Their installs, events and transactions have the same ids. */
const written_together = 5
/** Histories, failures and their shrinking share this time. */
const run_ms_max = 120_000 + histories * 6000

let stage: ReportStage
beforeAll(async () => {
  stage = await openReportStage()
})
afterAll(() => stage.close())

/** Postbacks are in no history. */
const names = reportNames.filter((name) => name !== 'skan' && name !== 'costs')

/** Everything that is random about one history. */
const randomPlan = fc.record({
  history: randomHistory,
  /** Shares of events and of decisions that are written before everything is settled. */
  before: fc.record({ events: fc.integer({ min: 0, max: 10 }), decisions: fc.integer({ min: 0, max: 10 }) }),
  /** The clicks of before are frozen then, and those of the same days that come later count nowhere. */
  freezes: fc.boolean(),
  mess: fc.record({ shuffle: fc.nat(50), blocks: fc.integer({ min: 1, max: 4 }), again: fc.boolean() }),
  rates: randomRates,
  corrected: randomRates,
  question: randomQuestion,
  whole: fc.subarray(names, { minLength: 2, maxLength: 3 }),
  questioned: fc.subarray(names, { minLength: 2, maxLength: 2 }),
  page: fc.record({ name: fc.constantFrom(...names), pages: fc.integer({ min: 1, max: 3 }) }),
})
/** A failure leaves all of them out but one: absent ones come from shrinking alone. */
const randomPlans = fc.array(fc.option(randomPlan, { freq: 1_000_000 }), {
  minLength: written_together,
  maxLength: written_together,
})
type Plan = typeof randomPlan extends fc.Arbitrary<infer Value> ? Value : never

const all = { since_ms: first_ms - 5 * day_ms, until_ms: now_ms }

/** A plan with the id of its app, cut into what is written before everything is settled and what is written after. */
function prepare(plan: Plan) {
  const { history, before } = plan
  const placed = history.decisions.map((decision, place): PlacedDecision => ({ ...decision, place }))
  const events = Math.ceil((history.events.length * before.events) / 10)
  const decisions = Math.ceil((placed.length * before.decisions) / 10)
  const { clicks = [], costs: uploads = [] } = history
  // Rows of uploads come in any order: their numbers decide.
  const costs = uploads.map((one, n) => ({ ...one, number: n + 1 })).toReversed()
  const cut = Math.ceil(clicks.length / 2)
  const earlier = {
    ...{ events: history.events.slice(0, events), decisions: placed.slice(0, decisions) },
    ...{ clicks: clicks.slice(0, cut), costs: costs.slice(0, cut) },
  }
  const frozen = plan.freezes ? [...new Set(earlier.clicks.map(({ clicked_at_ms }) => dayOf(clicked_at_ms)))] : []
  const in_time = clicks.slice(cut).filter(({ clicked_at_ms }) => !frozen.includes(dayOf(clicked_at_ms)))
  return {
    ...{ plan, app_id: newAppId(), earlier },
    /** What reports are made of before the rest is written, and then. */
    known: {
      ...earlier,
      costs: uploads.filter((one) => earlier.costs.some(({ number }) => uploads[number - 1] === one)),
    },
    history: { ...history, clicks: [...earlier.clicks, ...in_time], frozen },
    later: {
      ...{ events: history.events.slice(events), decisions: placed.slice(decisions) },
      ...{ clicks: clicks.slice(cut), costs: costs.slice(cut) },
    },
  }
}
type Prepared = ReturnType<typeof prepare>

/** The parts of several histories as one, each with another app. */
async function write(prepared: readonly Prepared[], part: 'earlier' | 'later'): Promise<void> {
  const moved = <Item extends object>(items: readonly Item[], n: number) => items.map((item) => ({ ...item, app: n }))
  const events = prepared.flatMap((one, n) => moved(one[part].events, n))
  const decisions = part === 'earlier' ? [] : prepared.flatMap((one, n) => moved(one.later.decisions, n))
  const clicks = prepared.flatMap((one, n) => moved(one[part].clicks, n))
  const costs = prepared.flatMap((one, n) => moved(one[part].costs, n))
  await stage.write(
    { events, decisions, clicks, costs },
    prepared.map(({ app_id }) => app_id),
  )
}

/** Writes the rows of verdicts in another order than install-writer does, in several blocks, and some of them again. */
async function writeVerdictsInDisorder({ plan: { mess }, app_id, earlier }: Prepared): Promise<void> {
  const rows = installRows(app_id, earlier.decisions)
  const key = (n: number) => (mess.shuffle * (n + 1) * 7919) % 101
  const shuffled = rows.map((row, n) => ({ row, n: key(n) })).toSorted((a, b) => a.n - b.n)
  const cut = Math.ceil(shuffled.length / mess.blocks)
  const blocks = Array.from({ length: mess.blocks }, (_, n) => shuffled.slice(n * cut, (n + 1) * cut))
  for (const block of [...blocks, shuffled.filter(({ n }) => mess.again && n % 2 === 1)]) {
    await insertInstalls(
      stage.clickhouse,
      block.map(({ row }) => row),
      randomBytes(10).toString('hex'),
    )
  }
}

/** Freezes all clicks of the histories that want it. */
async function freeze(prepared: readonly Prepared[]): Promise<void> {
  const apps = prepared.filter(({ plan }) => plan.freezes).map(({ app_id }) => `'${app_id}'`)
  const signal = new AbortController().signal
  const before = `if(app_id IN (${["''", ...apps].join(', ')}), toDate('${dayOf(now_ms)}'), toDate(0))`
  await freezeClicks(stage.clickhouse, before, { now_ms, signal })
}

const check = ({ plan, app_id, history }: Prepared, name: ReportName, question: Question, of: History = history) => {
  const note = `settled before event ${plan.before.events} and verdict ${plan.before.decisions} of 10`
  return stage.compare({ history: of, app: 0, app_id, note }, name, question)
}

async function checkPages({ plan, app_id, history }: Prepared): Promise<void> {
  const { name, pages } = plan.page
  const { rows, missing_rates, totals } = expectedReports(history, 0, stage.rates)[name](all)
  const limit = Math.max(1, Math.ceil(rows.length / pages))
  const found: unknown[] = []
  for (let offset = 0; offset <= rows.length; offset += limit) {
    const page = await stage.ask(name, app_id, { ...all, limit, offset })
    found.push(...page.rows)
    expect(page.missing_rates).toEqual(missing_rates)
    expect(page.totals).toEqual(totals)
  }
  expect(found).toEqual(rows)
}

async function checkHistory(prepared: Prepared): Promise<void> {
  const { plan } = prepared
  stage.rates = plan.rates
  for (const name of plan.whole) await check(prepared, name, all)
  stage.rates = plan.corrected
  for (const name of plan.questioned) await check(prepared, name, plan.question(plan.history, name))
  await checkPages(prepared)
}

test(
  'whatever happened, and however it was written: every report equals loops over events and verdicts',
  async () => {
    let compared = 0
    const property = fc.asyncProperty(randomPlans, fc.integer({ min: 8, max: 60 }), async (plans, chunk) => {
      const prepared = plans.flatMap((plan) => (plan === null ? [] : [prepare(plan)]))
      stage.broker.chunk_records_max = chunk
      await write(prepared, 'earlier')
      for (const one of prepared) await writeVerdictsInDisorder(one)
      await stage.settle()
      for (const one of prepared) {
        stage.rates = one.plan.rates
        const question = one.plan.question(one.history, 'performance')
        await check(one, 'performance', question, one.known)
      }
      await freeze(prepared)
      await write(prepared, 'later')
      for (const one of prepared) await checkHistory(one)
      compared += prepared.length
    })
    await fc.assert(property, {
      numRuns: Math.ceil(histories / written_together),
      // A failure is reported while there is time for it: shrinking takes long.
      interruptAfterTimeLimit: run_ms_max,
      // The message of the failed comparison tells the history; the plan that made it would hide it.
      async asyncReporter({ counterexample, seed, counterexamplePath, errorInstance }) {
        if (counterexample !== null) throw new Error(`seed ${seed}, path ${counterexamplePath}: ${errorInstance}`)
      },
    })
    expect(compared).toBeGreaterThanOrEqual(histories)
  },
  run_ms_max + 60_000,
)
