import { erasures_begun_key } from '@tributary/contracts/erasure'
import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { markRawExpired } from '@tributary/tables/events/raw-expired'
import { now_ms } from '@tributary/testing/oracle/random-history'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ErasureStage, mark_ms, openErasureStage, sentEvent } from '../stage.ts'
import { rowsByInstall } from './rows-by-install.ts'

let stage: ErasureStage
beforeAll(async () => {
  stage = await openErasureStage()
})
afterAll(() => stage.close())

for (const [name, back_ms] of Object.entries({ minute: 60_000, hour: hour_ms, day: day_ms }))
  test(`an erasure takes all that was received before the clock was set back by one ${name}`, async () => {
    const app_id = await stage.makeApp()
    const at_ms = mark_ms + back_ms
    const at = { received_at_ms: at_ms, event_ts_ms: at_ms }
    const paid = { event_name: 'purchase', revenue: 5, transaction_id: 't' }
    const own = [sentEvent('person', { ...at, event_name: 'app_install' }), sentEvent('person', { ...at, ...paid })]
    await stage.write({ events: [...own, sentEvent('other', at)], decisions: [] }, [app_id])
    await stage.request(app_id, ['person'])
    const keyValue = memoryKeyValue(() => mark_ms)
    await stage.run({ keyValue })
    const certificate = (await stage.certificate(app_id, 'person'))!
    expect(await rowsByInstall(stage.clickhouse, app_id, 'person')).toEqual({})
    expect(certificate).toMatchObject({ state: 'completed', marks: [{ erased_up_to_ms: at_ms }] })
    expect(await keyValue.get(erasures_begun_key), 'gateways store each request up to the mark').toBe(at_ms)
    // What was there comes again, and a new life begins behind the mark.
    const anew = { received_at_ms: at_ms + 1, event_ts_ms: at_ms + 1, event_name: 'app_install' }
    await stage.write({ events: [...own, sentEvent('person', anew)], decisions: [] }, [app_id])
    const left = await stage.clickhouse.query(
      `SELECT install_uuid, ts_ms FROM events_raw_v1 WHERE app_id = '${app_id}' ORDER BY install_uuid`,
    )
    expect(left).toEqual([
      { install_uuid: 'other', ts_ms: at_ms },
      { install_uuid: 'person', ts_ms: at_ms + 1 },
    ])
  })

/** Erases an install, has it come back an hour after the mark, and asks once more; gives back what is left of it. */
async function askAgain(asked_by: 'sdk' | 'admin', asked_ms: number) {
  const app_id = await stage.makeApp()
  const first = sentEvent('person', { event_name: 'app_install' })
  await stage.write({ events: [first], decisions: [] }, [app_id])
  await stage.request(app_id, ['person'], 'sdk', now_ms)
  await stage.run()
  const anew_ms = mark_ms + hour_ms
  const anew = sentEvent('person', { received_at_ms: anew_ms, event_ts_ms: anew_ms, event_name: 'app_install' })
  await stage.write({ events: [anew], decisions: [] }, [app_id])
  await stage.request(app_id, ['person'], asked_by, asked_ms)
  const asked = (await stage.certificate(app_id, 'person'))!.state
  await stage.run({ now: () => anew_ms + day_ms })
  const { state } = (await stage.certificate(app_id, 'person'))!
  return { asked, state, left: await rowsByInstall(stage.clickhouse, app_id, 'person') }
}

for (const [asked_by, name, behind_ms] of [
  ['sdk', 'minute', 60_000],
  ['sdk', 'day', day_ms],
  ['admin', 'hour', hour_ms],
] as const)
  test(`a second life is erased when ${asked_by} asks by a clock that is one ${name} behind the first erasure`, async () => {
    expect(await askAgain(asked_by, mark_ms - behind_ms)).toEqual({ asked: 'queued', state: 'completed', left: {} })
  })

test('a request that is read again, however often, leaves a second life alone', async () => {
  const { asked, state, left } = await askAgain('sdk', now_ms)
  expect({ asked, state }).toEqual({ asked: 'completed', state: 'completed' })
  expect(left).toMatchObject({ events_raw_v1: 1 })
})

test('a request by a clock behind is not lost while an erasure goes on', async () => {
  const app_id = await stage.makeApp()
  await stage.request(app_id, ['person'], 'sdk', now_ms)
  await stage.run({
    async findOlderWork() {
      await stage.request(app_id, ['person'], 'sdk', now_ms - day_ms)
      return []
    },
  })
  await stage.run({ now: () => mark_ms + hour_ms })
  expect((await stage.certificate(app_id, 'person'))!).toMatchObject({ state: 'completed', marks: [{}, {}] })
})

test('an erased install can be installed anew when retention ran days ahead of the corrected clock', async () => {
  const app_id = await stage.makeApp()
  const at = { received_at_ms: mark_ms - 1, event_ts_ms: mark_ms - 1 }
  await stage.write({ events: [sentEvent('person', { ...at, event_name: 'app_install' })], decisions: [] }, [app_id])
  await markRawExpired(stage.clickhouse, new Map([[app_id, utcDay(mark_ms + 2 * day_ms)]]))
  await stage.clickhouse.command(`DELETE FROM events_raw_v1 WHERE app_id = '${app_id}'`)
  await stage.request(app_id, ['person'])
  await stage.run()
  const anew = { received_at_ms: mark_ms + hour_ms, event_ts_ms: mark_ms + hour_ms, event_name: 'app_install' }
  await stage.write({ events: [sentEvent('person', anew)], decisions: [] }, [app_id])
  const left = await stage.clickhouse.query(`SELECT event_name FROM events_raw_v1 WHERE app_id = '${app_id}'`)
  expect(left).toEqual([{ event_name: 'app_install' }])
})
