import { gunzipSync, gzipSync } from 'node:zlib'
import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { utcDay } from '@tributary/domain/utc-day'
import { auditRewriting } from '@tributary/eraser/rewrite-audit-objects'
import type { SentEvent } from '@tributary/testing/oracle/history'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ErasureStage, mark_ms, openErasureStage, sentEvent } from '../stage.ts'

let stage: ErasureStage
beforeAll(async () => {
  stage = await openErasureStage()
})
afterAll(() => stage.close())

/** An app, its audit store, and the eraser of both. */
async function openApp() {
  const app_id = await stage.makeApp()
  const { rows } = await stage.pool.query('SELECT company_id FROM apps WHERE app_id = $1', [app_id])
  const [{ company_id }] = rows as [{ company_id: string }]
  const audit = memoryAuditStore()
  let objects = 0
  /** A request of an SDK or a backend with one event, as a gateway stores it. */
  function put(
    source: 'sdk' | 's2s' | 'bulk',
    received_at_ms: number,
    more: { install_uuid?: string; event_ts_ms?: number } = {},
  ) {
    objects += 1
    const event = {
      install_uuid: 'person',
      event_name: 'app_open',
      user_id: `of-${more.install_uuid ?? 'person'}`,
      ...more,
    }
    const body = source === 's2s' ? event : { events: [event] }
    const id = `e${objects}`
    const request = { body_sha256: '0'.repeat(64), event_id: id, received_at_ms, ip: '203.0.113.7', headers: {}, body }
    const day = utcDay(received_at_ms)
    const key = {
      sdk: `audit/${day.replaceAll('-', '/')}/${company_id}/${app_id}/${received_at_ms}-g-${objects}.jsonl.gz`,
      s2s: `${app_id}/s2s/${day}/${id}.json`,
      bulk: `${app_id}/s2s/bulk/${day}/${objects}.json`,
    }[source]
    const text = JSON.stringify(request)
    audit.objects.set(key, source === 'sdk' ? gzipSync(`${text}\n`) : Buffer.from(text))
  }
  const textOf = (content: Buffer) => (content[0] === 0x1f ? gunzipSync(content) : content).toString()
  const putBroken = (ms: number) => audit.objects.set(`${app_id}/s2s/bulk/${utcDay(ms)}/broken.json`, Buffer.from('{'))
  return {
    ...{ put, putBroken },
    /** Runs an eraser, at the step of which requests are taken but no tombstone is written with `meanwhile`. */
    run: (at_ms = mark_ms, meanwhile = async () => {}) => {
      const now = () => at_ms
      const { pool, masterKeys } = stage
      const keyValue = memoryKeyValue(now)
      const left = [meanwhile]
      const reconcile: typeof keyValue.reconcile = async (...given) => {
        for (const one of left.splice(0)) await one()
        return keyValue.reconcile(...given)
      }
      const rewriting = auditRewriting({ pool, masterKeys, audit, now, logger: pino({ level: 'silent' }) })
      return stage.run({ now, keyValue: { ...keyValue, reconcile }, audit: rewriting })
    },
    naming: (user_id = 'of-person') =>
      [...audit.objects.values()].filter((one) => textOf(one).includes(user_id)).length,
    write: (...events: SentEvent[]) => stage.write({ events, decisions: [] }, [app_id]),
    request: (at_ms = mark_ms - 1) => stage.request(app_id, ['person'], 'admin', at_ms),
    certificate: async () => (await stage.certificate(app_id, 'person'))!,
    rows: () =>
      stage.clickhouse.query<{ event_name: string }>(
        `SELECT event_name FROM events_raw_v1 WHERE app_id = '${app_id}' ORDER BY received_at_ms`,
      ),
  }
}

const jumps = { minute: 60_000, hour: hour_ms, day: day_ms, year: 366 * day_ms }

for (const [name, ahead_ms] of Object.entries(jumps))
  test(`an erasure takes a duplicate that a gateway received with its clock ahead by one ${name}`, async () => {
    const app = await openApp()
    const first_ms = mark_ms - 10_000
    const again_ms = mark_ms - 5000 + ahead_ms
    const at = (ms: number) => ({ event_id: 'dup', received_at_ms: ms, event_ts_ms: ms, untimed: true as const })
    const first = sentEvent('person', at(first_ms))
    const again = { ...first, ...at(again_ms) }
    await app.write(first, again)
    app.put('sdk', first_ms)
    app.put('sdk', again_ms)
    await app.request()
    await app.run()
    expect(await app.certificate()).toMatchObject({ state: 'completed', marks: [{ erased_up_to_ms: again_ms }] })
    expect(app.naming()).toBe(0)
    // A replay brings nothing back, and a new life begins behind the mark.
    await app.write(first, again)
    expect(await app.rows()).toEqual([])
    const anew = { event_name: 'app_install', received_at_ms: again_ms + 1, event_ts_ms: again_ms + 1 }
    app.put('sdk', again_ms + 1)
    await app.write(sentEvent('person', anew))
    await app.run(mark_ms + day_ms)
    expect(await app.rows()).toEqual([{ event_name: 'app_install' }])
    expect(app.naming()).toBe(1)
  })

test.each(['sdk', 's2s', 'bulk'] as const)(
  'an erasure takes a request (%s) that was stored ahead and never published, and of other installs none',
  async (source) => {
    const app = await openApp()
    app.put(source, mark_ms + hour_ms)
    app.put(source, mark_ms + 2 * hour_ms, { install_uuid: 'other' })
    await app.request()
    await app.run()
    expect(await app.certificate()).toMatchObject({ marks: [{ erased_up_to_ms: mark_ms + hour_ms }] })
    expect([app.naming(), app.naming('of-other')]).toEqual([0, 1])
  },
)

test('what is received ahead and dated before the mark needs no later mark: a new life of the same hour lives', async () => {
  const app = await openApp()
  app.put('sdk', mark_ms + hour_ms, { event_ts_ms: mark_ms - 1 })
  await app.request()
  await app.run()
  expect(await app.certificate()).toMatchObject({ state: 'completed', marks: [{ erased_up_to_ms: mark_ms }] })
  expect(app.naming()).toBe(0)
})

test('a new life that a gateway ahead receives while the erasure goes on is kept', async () => {
  const app = await openApp()
  const anew_ms = mark_ms + hour_ms
  const anew = { event_name: 'app_install', received_at_ms: anew_ms, event_ts_ms: anew_ms }
  await app.write(sentEvent('person'))
  app.put('sdk', mark_ms - 10)
  await app.request()
  await app.run(mark_ms, async () => app.put('sdk', anew_ms, { event_ts_ms: anew_ms }))
  await app.write(sentEvent('person', anew))
  expect(await app.certificate()).toMatchObject({ state: 'completed', marks: [{ erased_up_to_ms: mark_ms }] })
  expect(await app.rows()).toEqual([{ event_name: 'app_install' }])
  expect(app.naming()).toBe(1)
})

test('an object that cannot be read holds up no erasure before its tombstone', async () => {
  const app = await openApp()
  app.put('bulk', mark_ms + hour_ms)
  app.putBroken(mark_ms + hour_ms)
  await app.request()
  await app.run()
  expect(app.naming()).toBe(0)
  expect((await app.certificate()).marks).toEqual([expect.objectContaining({ erased_up_to_ms: mark_ms + hour_ms })])
})
