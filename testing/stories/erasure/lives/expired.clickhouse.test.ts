import { day_ms } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { markRawExpired } from '@tributary/tables/events/raw-expired'
import { uniquesSql } from '@tributary/tables/settled/sql/uniques'
import type { SentEvent } from '@tributary/testing/oracle/history'
import { now_ms } from '@tributary/testing/oracle/random-history'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ErasureStage, mark_ms, openErasureStage, sentEvent } from '../stage.ts'
import { rowsByInstall } from './rows-by-install.ts'

let stage: ErasureStage
beforeAll(async () => {
  stage = await openErasureStage()
}, 60_000)
afterAll(() => stage.close())

const rowsOf = (app_id: string, install_uuid: string) => rowsByInstall(stage.clickhouse, app_id, install_uuid)

test('an erasure takes money and activity of days whose raw events have expired, and leaves those of others', async () => {
  const app_id = await stage.makeApp()
  const [old_ms, days] = [now_ms - 20 * day_ms, 3]
  const eventsOf = (install_uuid: string) =>
    Array.from({ length: days }, (_, n): SentEvent => {
      const at_ms = old_ms + n * day_ms
      return {
        ...{ app: 0, install_uuid, partition: 0, source: 'sdk', received_at_ms: at_ms, event_ts_ms: at_ms },
        ...{ event_id: `${install_uuid}-${n}`, event_name: 'purchase', revenue: 5, currency: null },
        transaction_id: `${install_uuid}-${n}`,
      }
    })
  await stage.write({ events: [...eventsOf('gone'), ...eventsOf('kept')], decisions: [] }, [app_id])
  const kept = { activity_by_day_v1: days, revenue_raw_v1: days, money_days_v1: days, transaction_claims_v1: days }
  await markRawExpired(stage.clickhouse, new Map([[app_id, utcDay(now_ms - day_ms)]]))
  await stage.clickhouse.command(`DELETE FROM events_raw_v1 WHERE app_id = '${app_id}'`)
  expect(await rowsOf(app_id, 'gone')).toMatchObject(kept)
  await stage.request(app_id, ['gone'])
  const { rows } = await stage.run()
  expect(await rowsOf(app_id, 'gone')).toEqual({})
  expect(rows).toEqual({ ...kept, transaction_keys_v1: days })
  expect(await rowsOf(app_id, 'kept')).toEqual(kept)
})

test('on the edge of what has expired, an erasure takes the activity of skewed clocks and leaves that of a new life', async () => {
  const app_id = await stage.makeApp()
  const edge_ms = Date.parse(utcDay(mark_ms))
  const event = (install_uuid: string, event_ts_ms: number, skew_ms: number, received_at_ms = now_ms) =>
    sentEvent(install_uuid, { event_ts_ms, skew_ms, received_at_ms })
  const slow = event('again', edge_ms - 60_000, 120_000)
  const fast = event('again', edge_ms + 60_000, -120_000)
  // It comes once the tombstone is there, dated after the mark; its corrected time is on a day before that of the mark.
  const later = event('again', mark_ms + 1, -day_ms, mark_ms + 5)
  await stage.write({ events: [slow, fast], decisions: [] }, [app_id])
  await markRawExpired(stage.clickhouse, new Map([[app_id, utcDay(mark_ms)]]))
  await stage.clickhouse.command(`DELETE FROM events_raw_v1 WHERE app_id = '${app_id}' AND day < '${utcDay(mark_ms)}'`)
  await stage.settle()
  await stage.request(app_id, ['again'])
  let unread = [later]
  await stage.run({
    async findOlderWork() {
      const events = unread
      unread = []
      await stage.write({ events, decisions: [] }, [app_id])
      return []
    },
  })
  const left = await stage.clickhouse.query(
    `SELECT min_ts_ms, max_ts_ms FROM activity_by_day_v1 WHERE app_id = '${app_id}'`,
  )
  expect(left).toEqual([{ min_ts_ms: mark_ms + 1 - day_ms, max_ts_ms: mark_ms + 1 - day_ms }])
})

/** Events and distinct installs of a day as reports have them. */
async function countsOf(app_id: string, day: string) {
  const [counted] = await stage.clickhouse.query<{ events: number }>(
    `SELECT toUInt32((SELECT sum(events) FROM events_per_day_v1 WHERE app_id = '${app_id}' AND day = '${day}')
       - (SELECT sum(events) FROM erased_events_v1 FINAL WHERE app_id = '${app_id}' AND day = '${day}')) AS events`,
  )
  const uniques = uniquesSql({ app_id: `'${app_id}'`, days: `[toDate('${day}')]` })
  const [unique] = await stage.clickhouse.query<{ n: number }>(`SELECT toUInt32(sum(installs)) AS n FROM (${uniques})`)
  return { events: counted!.events, unique_installs: unique!.n }
}

const old_ms = now_ms - 20 * day_ms
const old_day = utcDay(old_ms)
const onOldDay = (install_uuid: string) =>
  sentEvent(install_uuid, { event_ts_ms: old_ms, received_at_ms: now_ms, source: 'bulk' })

test('an erasure of what was backfilled into an expired day leaves events and installs of that day, and says so', async () => {
  const app_id = await stage.makeApp()
  await stage.write({ events: ['a', 'b'].map(onOldDay), decisions: [] }, [app_id])
  await markRawExpired(stage.clickhouse, new Map([[app_id, utcDay(now_ms - 10 * day_ms)]]))
  await stage.clickhouse.command(`DELETE FROM events_raw_v1 WHERE app_id = '${app_id}'`)
  await stage.write({ events: ['gone', 'kept'].map(onOldDay), decisions: [] }, [app_id])
  const before = await countsOf(app_id, old_day)
  expect(before).toEqual({ events: 4, unique_installs: 4 })
  await stage.request(app_id, ['gone'])
  const { rows } = await stage.run()
  expect(await countsOf(app_id, old_day)).toEqual(before)
  expect(rows).toMatchObject({ events_raw_v1: 1 })
  expect(rows).not.toHaveProperty('event_installs_per_day_v1')
  expect(await rowsOf(app_id, 'gone')).toEqual({})
})

test('under a mark that lies ahead an erasure takes events and installs of days whose raw events are there, killed at each step', async () => {
  const app_id = await stage.makeApp()
  await stage.write({ events: ['gone', 'kept', 'kept too'].map(onOldDay), decisions: [] }, [app_id])
  await markRawExpired(stage.clickhouse, new Map([[app_id, utcDay(now_ms + 10 * day_ms)]]))
  await stage.request(app_id, ['gone'])
  await stage.runKilledAt(Array.from({ length: 40 }, (_, step) => step))
  expect(await countsOf(app_id, old_day)).toEqual({ events: 2, unique_installs: 2 })
  const { rows } = (await stage.certificate(app_id, 'gone'))!
  expect(rows).toMatchObject({ events_raw_v1: 1, event_installs_per_day_v1: 1 })
})
