import { randomBytes } from 'node:crypto'
import { day_ms } from '@tributary/contracts/limits'
import { type ReportName, reportNames } from '@tributary/contracts/reports'
import { expectedReports } from '@tributary/testing/oracle/expected-reports'
import { historyText } from '@tributary/testing/oracle/history'
import { insertInstalls, installRows } from '@tributary/testing/oracle/insert-verdicts'
import type { Question } from '@tributary/testing/oracle/question'
import { first_ms, now_ms, randomHistory, randomRates } from '@tributary/testing/oracle/random-history'
import { randomQuestion } from '@tributary/testing/oracle/random-question'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newAppId, openReportStage, type PlacedDecision, type ReportStage } from './stage.ts'

const histories = Number(process.env.TRIBUTARY_TEST_HISTORIES ?? 50)
/** Histories that are written together, each with apps of its own. */
const written_together = 10
/** Histories, failures and their shrinking share this time. */
const run_ms_max = histories * 2000

let stage: ReportStage
beforeAll(async () => {
  stage = await openReportStage()
})
afterAll(() => stage.close())

/** Everything that is random about one history. */
const randomPlan = fc.record({
  history: randomHistory,
  /** Shares of events and of decisions that are written before everything is settled. */
  before: fc.record({ events: fc.integer({ min: 0, max: 10 }), decisions: fc.integer({ min: 0, max: 10 }) }),
  mess: fc.record({ shuffle: fc.nat(50), blocks: fc.integer({ min: 1, max: 4 }), again: fc.boolean() }),
  rates: randomRates,
  corrected: randomRates,
  question: randomQuestion,
  page: fc.record({ name: fc.constantFrom(...reportNames), pages: fc.integer({ min: 1, max: 4 }) }),
})
/** A failure leaves all of them out but one: absent ones come from shrinking alone. */
const randomPlans = fc.array(fc.option(randomPlan, { freq: 1_000_000 }), {
  minLength: written_together,
  maxLength: written_together,
})
type Plan = typeof randomPlan extends fc.Arbitrary<infer Value> ? Value : never

const apps_of_history = 2
const all = { since_ms: first_ms - 5 * day_ms, until_ms: now_ms }

/** A plan with the ids of its apps, cut into what is written before everything is settled and what is written after. */
function prepare(plan: Plan) {
  const { history, before } = plan
  const app_ids = Array.from({ length: apps_of_history }, newAppId)
  const placed = history.decisions.map((decision, place): PlacedDecision => ({ ...decision, place }))
  const events = Math.ceil((history.events.length * before.events) / 10)
  const decisions = Math.ceil((placed.length * before.decisions) / 10)
  return {
    ...{ plan, app_ids },
    earlier: { events: history.events.slice(0, events), decisions: placed.slice(0, decisions) },
    later: { events: history.events.slice(events), decisions: placed.slice(decisions) },
  }
}
type Prepared = ReturnType<typeof prepare>

/** The parts of several histories as one, whose apps stand behind each other. */
async function write(prepared: readonly Prepared[], part: 'earlier' | 'later'): Promise<void> {
  const moved = <Item extends { app: number }>(items: readonly Item[], n: number) =>
    items.map((item) => ({ ...item, app: item.app + n * apps_of_history }))
  const events = prepared.flatMap((one, n) => moved(one[part].events, n))
  const decisions = part === 'earlier' ? [] : prepared.flatMap((one, n) => moved(one.later.decisions, n))
  const app_ids = prepared.flatMap((one) => one.app_ids)
  await stage.write({ events, decisions }, app_ids)
}

/** Writes the rows of verdicts in another order than install-writer does, in several blocks, and some of them again. */
async function writeVerdictsInDisorder({ plan: { mess }, app_ids, earlier }: Prepared): Promise<void> {
  const rows = app_ids.flatMap((app_id, at) =>
    installRows(
      app_id,
      earlier.decisions.filter((decision) => decision.app === at),
    ),
  )
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

/** Asks a report, holds its rows against the loops, and gives these. */
async function check({ plan, app_ids }: Prepared, app: number, name: ReportName, question: Question) {
  const expected = expectedReports(plan.history, app, stage.rates)[name](question)
  const found = await stage.ask(name, app_ids[app]!, question)
  const time = (ms: number) => new Date(ms).toISOString()
  const story = `${name} of app ${app}, ${time(question.since_ms)} to ${time(question.until_ms)}, ${JSON.stringify(question)}`
  const parts = `settled before event ${plan.before.events} and verdict ${plan.before.decisions} of 10`
  expect(found, `${story}\n${parts}\n${historyText(plan.history, app, stage.rates)}`).toEqual(expected)
  return expected
}

async function checkPages({ plan, app_ids }: Prepared): Promise<void> {
  const { name, pages } = plan.page
  const { rows, missing_rates } = expectedReports(plan.history, 0, stage.rates)[name](all)
  const limit = Math.max(1, Math.ceil(rows.length / pages))
  const found: unknown[] = []
  for (let offset = 0; offset <= rows.length; offset += limit) {
    const page = await stage.ask(name, app_ids[0]!, { ...all, limit, offset })
    found.push(...page.rows)
    expect(page.missing_rates).toEqual(missing_rates)
  }
  expect(found).toEqual(rows)
}

async function checkHistory(prepared: Prepared): Promise<void> {
  const { plan } = prepared
  stage.rates = plan.rates
  for (const name of reportNames) await check(prepared, 0, name, all)
  stage.rates = plan.corrected
  for (const name of reportNames) await check(prepared, 0, name, plan.question(plan.history, name))
  await check(prepared, 1, plan.page.name, plan.question(plan.history, plan.page.name))
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
      await write(prepared, 'later')
      for (const one of prepared) await checkHistory(one)
      compared += prepared.length
    })
    await fc.assert(property, {
      numRuns: Math.ceil(histories / written_together),
      // A failure is told while there is time for it: shrinking would go on for long.
      interruptAfterTimeLimit: run_ms_max,
      // The message of the failed comparison tells the history; the plan that made it would hide it.
      async asyncReporter({ failed, seed, counterexamplePath, errorInstance }) {
        if (failed) throw new Error(`seed ${seed}, path ${counterexamplePath}: ${errorInstance}`)
      },
    })
    expect(compared).toBeGreaterThanOrEqual(histories)
  },
  run_ms_max + 60_000,
)
