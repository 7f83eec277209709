import { day_ms, limits } from '@tributary/contracts/limits'
import { createSettler, whenQuiet } from '@tributary/tables/settled/settler'
import type { DecidedInstall, Rate, SentEvent } from '@tributary/testing/oracle/history'
import { dayOf } from '@tributary/testing/oracle/history'
import { partitions } from '@tributary/testing/oracle/random-history'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newAppId, openReportStage, type ReportStage } from './stage.ts'

let stage: ReportStage
beforeAll(async () => {
  stage = await openReportStage()
})
afterAll(() => stage.close())

const hour_ms = 3_600_000
const today_ms = Math.floor(Date.now() / day_ms) * day_ms
const installed_at_ms = today_ms - 2 * day_ms
const rates: Rate[] = [{ currency: 'EUR', day: dayOf(installed_at_ms), usd_e5: 108_000, units_e5: 100_000 }]
const decisionOf = (n: number): DecidedInstall => ({
  ...{
    app: 0,
    install_uuid: `i${n}`,
    installed_at_ms,
    partner: n % 2 === 0 ? 'acme' : 'zen',
    attribution_type: 'click_id',
  },
  ...{ reinstall: false, flagged: false, pending: false },
})
let sent = 0
const job = () => createSettler({ clickhouse: stage.clickhouse, logger: pino({ level: 'silent' }) })
/** Payments of as many installs on a day, the first 40 with a verdict, which a gateway received `age_ms` ago; below 0 its clock is ahead. */
const payments = (count: number, ts_ms: number, age_ms: number): SentEvent[] =>
  Array.from({ length: count }, (_, n) => ({
    ...{
      app: 0,
      install_uuid: `i${n}`,
      partition: n % partitions,
      source: 'sdk' as const,
      event_id: `e${sent++}`,
    },
    ...{ event_name: 'purchase', event_ts_ms: ts_ms, received_at_ms: Date.now() - age_ms },
    ...{ revenue: 1 + (n % 7), currency: n % 3 === 0 ? 'EUR' : 'USD', transaction_id: null },
  }))

test.each([
  ['today', today_ms + 1, limits.settle_today_changes_min],
  ['a day to which payments come late', today_ms - day_ms + hour_ms, limits.settle_changes_max],
])(
  'reports add to the settled money of %s what came since, also a payment written after later ones',
  async (_, ts_ms, count) => {
    const app_id = newAppId()
    const decisions = Array.from({ length: 40 }, (_, n) => ({ ...decisionOf(n), place: n }))
    const history = { events: [] as SentEvent[], decisions }
    const write = async (events: SentEvent[]) => {
      history.events.push(...events)
      await stage.write({ events, decisions: [] }, [app_id])
    }
    await stage.write({ events: [], decisions }, [app_id])
    await write(payments(30, installed_at_ms + hour_ms, 60_000))
    if (ts_ms < today_ms) await write(payments(1, ts_ms, 60_000))
    await stage.settle()
    await write(payments(count, ts_ms, 60_000))
    await write(payments(20, ts_ms, -60_000))
    await job()(whenQuiet)
    await write(payments(5, ts_ms, 3000))
    stage.rates = rates
    const added: string[] = []
    stage.beforeStatement = async (sql) => {
      if (sql.includes('ARRAY JOIN') && sql.includes('grown_days')) added.push(sql)
    }
    const window = { since_ms: installed_at_ms, until_ms: today_ms + day_ms }
    const compared = { history, app: 0, app_id, note: '' }
    expect((await stage.compare(compared, 'revenue', window)).rows.length).toBeGreaterThan(2)
    await stage.compare(compared, 'ltv', { ...window, days: [0, 1] })
    expect(added).toHaveLength(2)
  },
)

test('reports add to a row that leaves events out, though a replica that is behind shows its stamp', async () => {
  const app_id = newAppId()
  const decisions = Array.from({ length: 40 }, (_, n) => ({ ...decisionOf(n), place: n }))
  const early = payments(limits.settle_today_changes_min, today_ms + 1, 60_000)
  const late = payments(20, today_ms + 1, -60_000)
  await stage.write({ events: early, decisions }, [app_id])
  await stage.write({ events: late, decisions: [] }, [app_id])
  await job()(whenQuiet)
  await stage.clickhouse.command(
    `INSERT INTO settled_money_v1 SELECT * REPLACE (stamp + 1 AS stamp) FROM settled_money_v1 FINAL WHERE app_id = '${app_id}' AND left_out > 0`,
  )
  stage.rates = rates
  stage.beforeStatement = async () => {}
  const window = { since_ms: installed_at_ms, until_ms: today_ms + day_ms }
  const compared = { history: { events: [...early, ...late], decisions }, app: 0, app_id, note: '' }
  await stage.compare(compared, 'revenue', window)
  await stage.compare(compared, 'ltv', { ...window, days: [0, 1] })
})

test('money that a receipt chose of a payment that was left out has a rate', async () => {
  const app_id = newAppId()
  const decisions = Array.from({ length: 40 }, (_, n) => ({ ...decisionOf(n), place: n }))
  await stage.write({ events: [], decisions }, [app_id])
  const of_usd = payments(limits.settle_today_changes_min, today_ms + 1, 60_000).map((one) => ({
    ...one,
    currency: 'USD',
  }))
  await stage.write({ events: of_usd, decisions: [] }, [app_id])
  const chosen = { ...payments(1, today_ms + 1, -60_000)[0]!, currency: 'USD', revenue: 0.01 }
  await stage.write({ events: [chosen], decisions: [] }, [app_id])
  const own = 'app_id, day, install_uuid, ts_ms, event_name, event_key, received_at_ms, topic, partition, offset'
  const of_one = `FROM revenue_raw_v1 WHERE app_id = '${app_id}' AND received_at_ms = ${chosen.received_at_ms}`
  await stage.clickhouse.command(
    `INSERT INTO revenue_cancelled_v1 (${own}, currency, amount_micros, transaction_key)
     SELECT ${own}, currency, amount_micros, transaction_key ${of_one}`,
  )
  await stage.clickhouse.command(
    `INSERT INTO revenue_chosen_v1 (${own}, correction_ms, install_key, dated_at_ms, counts, currency, amount_micros, price_source, reused, version)
     SELECT ${own}, correction_ms, install_key, ts_ms, 1, 'EUR', 900000000, 'store', 0, 1 ${of_one}`,
  )
  stage.rates = rates
  stage.beforeStatement = async () => {}
  const window = { since_ms: installed_at_ms, until_ms: today_ms + day_ms }
  const ask = async () => [
    await stage.ask('revenue', app_id, window),
    await stage.ask('ltv', app_id, { ...window, days: [0, 1] }),
  ]
  const live = await ask()
  expect(await job()(whenQuiet)).toMatchObject({ settled: 1 })
  expect(await ask()).toEqual(live)
})

test('a row of older verdicts that replaces one while a report adds to it is noticed', async () => {
  const app_id = newAppId()
  const { clickhouse } = stage
  const decided = (partner: string, place: number) => ({ ...decisionOf(0), partner, place })
  await stage.write({ events: [], decisions: [decided('acme', 0)] }, [app_id])
  await stage.write({ events: payments(limits.settle_today_changes_min, today_ms + 1, 60_000), decisions: [] }, [
    app_id,
  ])
  await stage.settle()
  // A slow settler has this row in hand.
  await clickhouse.command('CREATE TABLE slow_v1 AS settled_money_v1')
  await clickhouse.command(`INSERT INTO slow_v1 SELECT * FROM settled_money_v1 FINAL WHERE app_id = '${app_id}'`)
  await stage.write({ events: [], decisions: [decided('zen', 1)] }, [app_id])
  await stage.settle()
  await stage.write({ events: payments(3, today_ms + 1, 1000), decisions: [] }, [app_id])
  stage.rates = rates
  const window = { since_ms: today_ms, until_ms: today_ms + day_ms }
  stage.beforeStatement = async () => {}
  const right = await stage.ask('revenue', app_id, window)
  let replaced = false
  stage.beforeStatement = async (sql) => {
    if (replaced || !sql.includes('ARRAY JOIN') || !sql.includes('grown_days')) return
    replaced = true
    const columns = (
      await clickhouse.query<{ name: string }>(
        "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = 'slow_v1'",
      )
    ).map(({ name }) => (name === 'stamp' ? 'toUInt64(1000000) AS stamp' : `\`${name}\``))
    await clickhouse.command(`INSERT INTO settled_money_v1 SELECT ${columns.join(', ')} FROM slow_v1`)
  }
  expect(await stage.ask('revenue', app_id, window)).toEqual(right)
  expect(replaced).toBe(true)
})
