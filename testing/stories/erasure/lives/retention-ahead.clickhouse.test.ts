import { installPartition } from '@tributary/broker/partition'
import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { runRetention } from '@tributary/retention/run-retention'
import { readRawExpired } from '@tributary/tables/events/raw-expired'
import { partitions } from '@tributary/testing/oracle/random-history'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryBroker } from '@tributary/testing/twins/memory-broker'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ErasureStage, openErasureStage, sentEvent, mark_ms as stage_mark_ms } from '../stage.ts'
import { rowsByInstall } from './rows-by-install.ts'

/** The cutoff is in the afternoon of its day, so that both lives may have a part of the day. */
const mark_ms = Date.parse(utcDay(stage_mark_ms)) + 15 * hour_ms

let stage: ErasureStage
beforeAll(async () => {
  stage = await openErasureStage()
})
afterAll(() => stage.close())

/** An app whose raw events are kept for a day. */
async function makeApp(): Promise<string> {
  const app_id = await stage.makeApp()
  await stage.pool.query(
    'UPDATE companies SET keep_raw_days = 1 WHERE company_id = (SELECT company_id FROM apps WHERE app_id = $1)',
    [app_id],
  )
  return app_id
}

/** A night of retention, by the clock of its process. */
async function retain(now_ms: number): Promise<void> {
  const deps = {
    ...{ pool: stage.pool, clickhouse: stage.clickhouse, audit: memoryAuditStore(), now: () => now_ms },
    ...{ broker: memoryBroker(1, () => now_ms), wait_ms: 20, pause: async () => {}, logger: pino({ level: 'silent' }) },
  }
  await runRetention(deps, new AbortController().signal)
}

const rowsOf = (app_id: string, install_uuid: string) => rowsByInstall(stage.clickhouse, app_id, install_uuid)
const at = (ms: number) => ({ received_at_ms: ms, event_ts_ms: ms })
const paid = (transaction_id: string) => ({ event_name: 'purchase', revenue: 5, transaction_id })
/** Events of the day before the mark and of its day, and one that its backend dated half a day ahead. */
const lifeOf = (install_uuid: string) => [
  sentEvent(install_uuid, { ...at(mark_ms - day_ms), ...paid(`${install_uuid}-1`) }),
  sentEvent(install_uuid, { ...at(mark_ms - hour_ms), ...paid(`${install_uuid}-2`) }),
  sentEvent(install_uuid, { ...at(mark_ms - 5), event_ts_ms: mark_ms + day_ms / 2, source: 's2s' }),
]
/** Erases; does this once the tombstones are there, and sets the clock of the eraser to this time before it goes on. */
async function erase(app_id: string, now_ms = mark_ms, meanwhile: () => Promise<void> = async () => {}) {
  const clock = { ms: mark_ms }
  let left = [meanwhile]
  await stage.request(app_id, ['gone'])
  await stage.run({
    now: () => clock.ms,
    findOlderWork: async () => left.map(() => ({ consumer: 'event-writer', partition: 0 })),
    async pause() {
      for (const one of left) await one()
      left = []
      clock.ms = now_ms
    },
  })
  expect(left).toEqual([])
}

for (const [when, corrected_ms] of Object.entries({
  'before its clock is corrected': null,
  'after the night that took its marks back': mark_ms,
}))
  test(`an erasure takes money and activity whose raw events a retention ahead deleted, ${when}`, async () => {
    const app_id = await makeApp()
    await stage.write({ events: [...lifeOf('gone'), ...lifeOf('kept')], decisions: [] }, [app_id])
    const kept = await rowsOf(app_id, 'kept')
    await retain(mark_ms + 5 * day_ms)
    if (corrected_ms !== null) await retain(corrected_ms)
    const { events_raw_v1, ...left } = kept
    expect(await rowsOf(app_id, 'gone')).toEqual(left)
    expect(left).toMatchObject({ activity_by_day_v1: 3, revenue_raw_v1: 2 })
    await erase(app_id)
    expect(await stage.certificate(app_id, 'gone')).toMatchObject({ state: 'completed', rows: { revenue_raw_v1: 2 } })
    expect(await rowsOf(app_id, 'gone')).toEqual({})
    expect(await rowsOf(app_id, 'kept')).toEqual(left)
  })

test('what is left of a day beside events that a retention ahead did not delete goes with them', async () => {
  const app_id = await makeApp()
  await stage.write({ events: lifeOf('gone'), decisions: [] }, [app_id])
  await retain(mark_ms + 5 * day_ms)
  await retain(mark_ms)
  const again = sentEvent('gone', { ...at(mark_ms - 4), ...paid('again') })
  await stage.write({ events: [again], decisions: [] }, [app_id])
  await erase(app_id)
  expect(await rowsOf(app_id, 'gone')).toEqual({})
})

test('an erasure leaves of such a day what a new life did on it', async () => {
  const app_id = await makeApp()
  await stage.write({ events: lifeOf('gone'), decisions: [] }, [app_id])
  await retain(mark_ms + 5 * day_ms)
  await retain(mark_ms)
  const anew = sentEvent('gone', { ...at(mark_ms + 1), ...paid('anew') })
  await erase(app_id, mark_ms, () => stage.write({ events: [anew], decisions: [] }, [app_id]))
  expect(await rowsOf(app_id, 'gone')).toEqual({
    ...{ events_raw_v1: 1, activity_by_day_v1: 1, revenue_raw_v1: 1, money_days_v1: 1, transaction_claims_v1: 1 },
  })
  const left = await stage.clickhouse.query(
    `SELECT min_ts_ms, max_ts_ms FROM activity_by_day_v1 WHERE app_id = '${app_id}'`,
  )
  expect(left).toEqual([{ min_ts_ms: mark_ms + 1, max_ts_ms: mark_ms + 1 }])
})

test('raw events of the day of the mark and later stay until an erasure is over, and the new life with them', async () => {
  const app_id = await makeApp()
  await stage.write({ events: lifeOf('gone'), decisions: [] }, [app_id])
  await retain(mark_ms + 5 * day_ms)
  const late_ms = mark_ms + 4 * day_ms
  await erase(app_id, late_ms, async () => {
    const anew = sentEvent('gone', { ...at(mark_ms + day_ms), ...paid('anew'), event_name: 'app_install' })
    await stage.write({ events: [anew], decisions: [] }, [app_id])
    await retain(late_ms)
  })
  const left = { activity_by_day_v1: 1, revenue_raw_v1: 1, money_days_v1: 1, transaction_claims_v1: 1 }
  expect(await rowsOf(app_id, 'gone')).toEqual({ ...left, events_raw_v1: 1 })
  await retain(late_ms)
  expect(await rowsOf(app_id, 'gone')).toEqual(left)
  const activity = await stage.clickhouse.query(`SELECT min_ts_ms FROM activity_by_day_v1 WHERE app_id = '${app_id}'`)
  expect(activity).toEqual([{ min_ts_ms: mark_ms + day_ms }])
  const keys = await stage.clickhouse.query(
    `SELECT count() AS n FROM event_keys_v1 WHERE app_id = '${app_id}' AND key_day = '1970-01-01'`,
  )
  expect(keys, 'the install event of the new life').toEqual([{ n: 1 }])
})

test('no day from that of the mark on counts as expired while an erasure waits', async () => {
  const app_id = await makeApp()
  await stage.write({ events: lifeOf('gone'), decisions: [] }, [app_id])
  const late_ms = mark_ms + 4 * day_ms
  const expiredBefore = async () => (await readRawExpired(stage.clickhouse)).get(app_id)
  await erase(app_id, late_ms, async () => {
    await retain(late_ms)
    expect(await expiredBefore()).toBe(utcDay(mark_ms))
  })
  await retain(late_ms)
  expect(await expiredBefore()).toBe(utcDay(late_ms - day_ms))
  expect(await rowsOf(app_id, 'gone')).toEqual({})
})

test('an erasure that goes on a day later takes what a retention ahead left of days behind its mark', async () => {
  const app_id = await makeApp()
  await stage.write({ events: lifeOf('gone'), decisions: [] }, [app_id])
  await retain(mark_ms + 5 * day_ms)
  await erase(app_id, mark_ms + 2 * day_ms, () => retain(mark_ms + 2 * day_ms))
  expect(await rowsOf(app_id, 'gone')).toEqual({})
})

for (const [which, waited_days] of Object.entries({ 'the same day': 0, 'another day': 1 }))
  test(`an install lives anew, with ids of its first life, when a retention ahead deleted that and the erasure ends on ${which}`, async () => {
    const app_id = await makeApp()
    const partition = installPartition(app_id, 'gone', partitions)
    const lifeFrom = (ms: number) => [
      sentEvent('gone', { ...at(ms), partition, event_name: 'app_install' }),
      sentEvent('gone', { ...at(ms), partition, event_id: 'same' }),
    ]
    await stage.write({ events: lifeFrom(mark_ms - hour_ms), decisions: [] }, [app_id])
    await retain(mark_ms + 5 * day_ms)
    await erase(app_id, mark_ms + waited_days * day_ms)
    const anew = lifeFrom(mark_ms + day_ms)
    await stage.write({ events: [...anew, ...anew], decisions: [] }, [app_id])
    expect(await rowsOf(app_id, 'gone')).toMatchObject({ events_raw_v1: 2 })
  })

test('more rows without a raw event than a batch takes go all the same', async () => {
  const app_id = await makeApp()
  const events = Array.from({ length: 1500 }, (_, n) =>
    sentEvent('gone', { ...at(mark_ms - 2000 + n), ...paid(`many-${n}`) }),
  )
  await stage.write({ events, decisions: [] }, [app_id])
  await retain(mark_ms + 5 * day_ms)
  await retain(mark_ms)
  await erase(app_id)
  expect(await stage.certificate(app_id, 'gone')).toMatchObject({ state: 'completed', rows: { revenue_raw_v1: 1500 } })
  expect(await rowsOf(app_id, 'gone')).toEqual({})
})
