import { randomUUID } from 'node:crypto'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { factColumns, factLine } from '@tributary/tables/attribution/facts'
import { installColumns, installLine } from '@tributary/tables/attribution/install-rows'
import { markRawExpired } from '@tributary/tables/events/raw-expired'
import { toDecision } from '@tributary/testing/engines/insert-verdicts'
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

const jumps = { minute: 60_000, hour: hour_ms, day: day_ms }

const place = (offset: number) => ({ topic: 'events.accepted.v1@test', partition: 0, offset, index: 0 })
const fact = (app_id: string, offset: number, more: Partial<InstallFact>): string =>
  factLine({
    ...{ kind: 'install', v: 1, company_id: 'co_1', app_id, install_uuid: 'person', received_at_ms: now_ms },
    ...{ place: place(offset), event_name: 'app_install', is_sdk: true, platform: 'android', installed_at_ms: now_ms },
    ...{ ip: '203.0.113.200', os_major: 15, model: 'Pixel 9', device_hashes: [], user_id: null, referrer: null },
    ...{ named_click: null, referrer_click_server_s: null, install_begin_server_s: null },
    ...more,
  })
/** Rows of a verdict on the event at `offset`, and of the one that cancels it. */
function verdict(app_id: string, offset: number, times: { received_at_ms: number; dated_at_ms?: number }) {
  const given = { install_uuid: 'person', installed_at_ms: times.received_at_ms, partner: 'acme' }
  const state = { attribution_type: 'device_match', reinstall: false, flagged: false, pending: false }
  const decision = { ...toDecision(app_id, { ...given, ...state }, offset), ...times, place: place(offset) }
  const row = (sign: 1 | -1, at: number) => installLine({ decision, sign, place: place(at) })
  return [row(1, offset * 10), row(-1, offset * 10 + 1), row(1, offset * 10 + 1)]
}
const insert = (table: string, columns: readonly string[], lines: string[]) =>
  stage.clickhouse.insert({ table, columns, lines: lines.join('\n'), token: randomUUID() })

/** Runs an eraser, and writes this once it has looked how late its marks have to be, as a batch that was begun before them. */
async function runWhile(write: () => Promise<void>) {
  const keyValue = memoryKeyValue(() => mark_ms)
  let left = [write]
  const reconcile: typeof keyValue.reconcile = async (...given) => {
    const now = left
    left = []
    for (const one of now) await one()
    return keyValue.reconcile(...given)
  }
  await stage.run({ keyValue: { ...keyValue, reconcile } })
  expect(left).toEqual([])
}

for (const [name, jump_ms] of Object.entries(jumps)) {
  test(`an erasure takes all that a process receives with its clock ahead by one ${name}, dated up to the mark`, async () => {
    const app_id = await stage.makeApp()
    const ahead = { received_at_ms: mark_ms + jump_ms }
    const paid = { event_name: 'purchase', revenue: 5, transaction_id: 't' }
    const events = [
      sentEvent('person', { ...ahead, event_name: 'app_install' }),
      sentEvent('person', { ...ahead, ...paid }),
      sentEvent('person', { ...ahead, event_ts_ms: mark_ms }),
    ]
    // What comes after that look and is dated after the mark as well is a new life.
    const life = sentEvent('person', { ...ahead, event_name: 'level_up', event_ts_ms: mark_ms + 1 })
    const dated = { ...ahead, dated_at_ms: now_ms }
    await stage.request(app_id, ['person'])
    await runWhile(async () => {
      await stage.write({ events: [...events, life], decisions: [] }, [app_id])
      await insert('install_facts_v1', factColumns, [
        fact(app_id, 1, { ...dated, device_hashes: ['d'] }),
        fact(app_id, 2, ahead),
      ])
      await insert('installs_v1', installColumns, [...verdict(app_id, 1, dated), ...verdict(app_id, 2, ahead)])
    })
    const { state, rows } = (await stage.certificate(app_id, 'person'))!
    expect(state).toBe('completed')
    expect(rows).toMatchObject({ events_raw_v1: 3, event_keys_v1: 3, revenue_raw_v1: 1, install_facts_v1: 1 })
    expect(await rowsByInstall(stage.clickhouse, app_id, 'person')).toEqual({
      ...{ events_raw_v1: 1, activity_by_day_v1: 1, install_facts_v1: 1, install_fact_keys_v1: 4 },
      ...{ installs_v1: 3, installs_by_day_v1: 3, installs_by_key_v1: 3, installs_by_dimensions_v1: 3 },
    })
  })

  test(`what is there when the tombstone is written goes, received and dated ahead by one ${name}`, async () => {
    const app_id = await stage.makeApp()
    const ahead = { received_at_ms: mark_ms + jump_ms }
    await stage.write({ events: [sentEvent('person', { ...ahead, event_ts_ms: mark_ms + 1 })], decisions: [] }, [
      app_id,
    ])
    await insert('install_facts_v1', factColumns, [fact(app_id, 1, ahead)])
    await insert('installs_v1', installColumns, verdict(app_id, 1, ahead))
    await stage.request(app_id, ['person'])
    await stage.run()
    expect((await stage.certificate(app_id, 'person'))?.state).toBe('completed')
    expect(await rowsByInstall(stage.clickhouse, app_id, 'person')).toEqual({})
  })
}

test('an event without a time goes by the clock of its client when our clock was ahead', async () => {
  const app_id = await stage.makeApp()
  const received_at_ms = mark_ms + hour_ms
  const sent = (sent_at_ms: number) =>
    sentEvent('person', { received_at_ms, event_ts_ms: received_at_ms, untimed: true, sent_at_ms })
  await stage.request(app_id, ['person'])
  await runWhile(() => stage.write({ events: [sent(mark_ms), sent(mark_ms + 1)], decisions: [] }, [app_id]))
  const left = await stage.clickhouse.query(`SELECT sent_at_ms FROM events_raw_v1 WHERE app_id = '${app_id}'`)
  expect(left).toEqual([{ sent_at_ms: mark_ms + 1 }])
})

test('an erased install whose events had expired can be installed anew', async () => {
  const app_id = await stage.makeApp()
  const old = { event_name: 'app_install', event_ts_ms: now_ms - 40 * day_ms, received_at_ms: now_ms - 40 * day_ms }
  await stage.write({ events: [sentEvent('person', old), sentEvent('other', old)], decisions: [] }, [app_id])
  const before = utcDay(now_ms - 30 * day_ms)
  await markRawExpired(stage.clickhouse, new Map([[app_id, before]]))
  await stage.clickhouse.command(`DELETE FROM events_raw_v1 WHERE app_id = '${app_id}' AND day < '${before}'`)
  await stage.request(app_id, ['person'])
  await stage.run()
  const keys = await stage.clickhouse.query(`SELECT count() AS n FROM event_keys_v1 WHERE app_id = '${app_id}'`)
  expect(keys, 'that of the other install').toEqual([{ n: 1 }])
  // Much later, when the days behind the mark have expired too.
  const late_ms = mark_ms + 10 * day_ms
  await markRawExpired(stage.clickhouse, new Map([[app_id, utcDay(late_ms)]]))
  const anew = { event_name: 'app_install', event_ts_ms: late_ms, received_at_ms: late_ms }
  const again = [sentEvent('person', anew), sentEvent('person', anew), sentEvent('other', anew)]
  await stage.write({ events: again, decisions: [] }, [app_id])
  const left = await stage.clickhouse.query(`SELECT install_uuid FROM events_raw_v1 WHERE app_id = '${app_id}'`)
  expect(left).toEqual([{ install_uuid: 'person' }])
})
