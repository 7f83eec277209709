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
/** Payments of as many installs on a day, the first 40 with a verdict, which the gateway received `age_ms` ago. */
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
    await write(payments(20, ts_ms, 0))
    await createSettler({ clickhouse: stage.clickhouse, logger: pino({ level: 'silent' }) })(whenQuiet)
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
