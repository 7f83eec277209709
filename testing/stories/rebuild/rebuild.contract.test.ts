import { setImmediate as nextTurn } from 'node:timers/promises'
import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import { aakPayload, skanFields } from '@tributary/testing/postback/apple-twin'
import { writeJson } from '@tributary/testing/postback/json'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Tenant } from '../replay/replay-world.ts'
import { openDatabases, openRebuildStage, type RebuildStage, start_ms } from './rebuild-stage.ts'

await describeWithEngine('clickhouse', (engine) => {
  let databases: Awaited<ReturnType<typeof openDatabases>>
  let stage: RebuildStage
  let tenants: [Tenant, Tenant]
  beforeAll(async () => {
    databases = await openDatabases(engine)
  })
  afterAll(() => databases.close())
  beforeEach(async () => {
    stage = await openRebuildStage(databases)
    tenants = [await stage.world.newTenant(), await stage.world.newTenant()]
  })
  afterEach(() => stage.close())

  const event = (n: number, more: object = {}) => ({
    ...{ event_id: `e-${n}`, event_name: 'level_up', install_uuid: `i-${n % 5}`, event_ts_ms: stage.now() - 1000 },
    ...more,
  })

  /** Events on all doors, twice, late and with money that several claim, clicks, and postbacks with resends. */
  async function sendAll() {
    const { world, door, apple } = stage
    for (const [n, tenant] of [tenants[0], tenants[1], tenants[0]].entries()) {
      const paid = { event_name: 'purchase', revenue: 4.99, currency: 'EUR' }
      const sdk = [event(10 * n), event(10 * n + 1, { ...paid, transaction_id: `t-${n}` }), event(10 * n)]
      await world.sdk(tenant, JSON.stringify({ events: sdk, sent_at_ms: stage.now() }), n === 1)
      world.clock.now_ms += 700
      await world.single(tenant, event(10 * n + 2, { ...paid, transaction_id: `t-${n}`, install_uuid: 'i-9' }))
      world.clock.now_ms += 700
      const late = { event_ts_ms: stage.now() - day_ms, event_id: undefined }
      await world.bulk(tenant, [event(10 * n), event(10 * n + 3, { ...paid }), event(10 * n + 4, late)])
      await world.sdk(tenant, JSON.stringify({ events: sdk, sent_at_ms: stage.now() }))
      world.clock.now_ms += 7 * hour_ms
    }
    await world.untilWritten()
    await stage.writeClicks(tenants, 6)
    const fields = apple.signSkan('4.0', skanFields('4.0'))
    await door.send('skan', writeJson(fields))
    await door.send('skan', writeJson({ ...fields, 'conversion-value': 3 }))
    await door.send('aak', apple.signAak(aakPayload()))
    await door.send('skan', writeJson({ ...skanFields('4.0'), 'attribution-signature': 'none' }))
    await door.untilWritten()
  }

  const reports = async () => [await stage.reportsOf(tenants[0]), await stage.reportsOf(tenants[1])]
  const deleted = (table: string, where: string) =>
    stage.live.command(`ALTER TABLE ${table} DELETE WHERE ${where} SETTINGS mutations_sync = 2`)

  /** Where events are, and how many of each partition of the log the sums have counted. */
  const places = async () => [
    await stage.live.query(
      'SELECT event_id, toString(event_key) AS key, topic, partition, offset FROM events_raw_v1 ORDER BY ALL',
    ),
    await stage.live.query(
      `SELECT app_id, sum(events) AS n FROM events_per_day_v1 WHERE startsWith(app_id, '/') GROUP BY app_id ORDER BY app_id`,
    ),
  ]

  async function damage() {
    const { live } = stage
    await deleted('events_raw_v1', `event_id = 'e-3'`)
    await live.command(
      `INSERT INTO events_raw_v1 SELECT * FROM events_raw_v1 WHERE event_id = 'e-12' LIMIT 1 SETTINGS insert_deduplicate = 0`,
    )
    await live.command(
      `INSERT INTO events_per_day_v1 (app_id, day, event_name, currency, events, revenue_micros)
       SELECT app_id, day, event_name, currency, 1, 0 FROM events_per_day_v1 WHERE NOT startsWith(app_id, '/') LIMIT 1`,
    )
    await deleted('clicks_raw_v1', 'offset = 2')
    await deleted('postbacks_raw_v1', 'offset = 0')
  }

  it('finds nothing to change in tables that agree with the audit store, and ends no day before its rows are there', async () => {
    await sendAll()
    let is_inserting = false
    const early: string[] = []
    const before = async (what: string) => {
      if (what === 'rebuild_steps' && is_inserting) early.push(what)
      if (what !== 'events_raw_v1') return
      is_inserting = true
      for (let turn = 0; turn < 1000 && early.length === 0; turn += 1) await nextTurn()
      is_inserting = false
    }
    const { differing, swapped, tables } = await stage.rebuild({ before })
    expect([differing, swapped, early]).toEqual([[], false, []])
    expect(tables.find(({ name }) => name === 'clicks_raw_v1')).toEqual({
      name: 'clicks_raw_v1',
      rows: 6,
      differs: false,
    })
    expect(tables.find(({ name }) => name === 'postbacks_decoded_v1')?.rows).toBe(4)
    expect(tables.find(({ name }) => name === 'events_raw_v1')?.rows).toBe(15)
  })

  it('brings damaged tables back, so that reports are as before', async () => {
    await sendAll()
    const before = await reports()
    const placed = await places()
    await damage()
    expect(await reports()).not.toEqual(before)
    const dry = await stage.rebuild({ dry_run: true })
    expect(dry.differing).toEqual(
      expect.arrayContaining(['events_raw_v1', 'events_per_day_v1', 'clicks_raw_v1', 'postbacks_raw_v1']),
    )
    expect([dry.swapped, stage.hooks.swapped]).toEqual([false, 0])
    expect(await reports()).not.toEqual(before)

    expect(await stage.rebuild()).toMatchObject({ swapped: true, differing: dry.differing })
    expect(await reports()).toEqual(before)
    expect(await places()).toEqual(placed)
    expect(stage.hooks.swapped).toBe(1)
    expect(await stage.rebuild()).toMatchObject({ swapped: false, differing: [] })
  })

  it('fills a server that was lost, and writes go on behind it', async () => {
    await sendAll()
    const before = await reports()
    await stage.loseTables()
    expect(await stage.rebuild()).toMatchObject({ swapped: true })
    expect(await reports()).toEqual(before)
    await stage.world.sdk(tenants[0], JSON.stringify({ events: [event(0), event(77)] }))
    await stage.world.untilWritten()
    expect(await stage.live.query(`SELECT count() AS n FROM events_raw_v1`)).toEqual([{ n: 16 }])
    expect(
      await stage.live.query(`SELECT sum(events) AS n FROM events_per_day_v1 WHERE NOT startsWith(app_id, '/')`),
    ).toEqual([{ n: 16 }])
  })

  it('goes on after a kill at any insert or swap, and comes to the same', async () => {
    await sendAll()
    const before = await reports()
    await damage()
    for (const dies of [
      'events_raw_v1',
      'rebuild_steps',
      'ALTER TABLE event_keys_v1 REPLACE',
      'ALTER TABLE revenue_raw_v1 REPLACE',
    ]) {
      let left = dies.startsWith('rebuild') ? 3 : 1
      const before = async (what: string) => {
        if (what.startsWith(dies) && --left === 0) throw new Error('killed')
      }
      await expect(stage.rebuild({ before }), dies).rejects.toThrow('killed')
    }
    await expect(stage.rebuild({ dry_run: true })).rejects.toThrow('A swap has begun.')
    expect(await stage.rebuild()).toMatchObject({ swapped: true })
    expect(await reports()).toEqual(before)
    expect(await stage.rebuild()).toMatchObject({ swapped: false, differing: [] })
  })

  it('changes nothing while a writer runs', async () => {
    await sendAll()
    await damage()
    const damaged = await reports()
    stage.hooks.requireStopped = async () => {
      throw new Error('writers run')
    }
    await expect(stage.rebuild()).rejects.toThrow('writers run')
    expect(await reports()).toEqual(damaged)
    expect(stage.hooks.swapped).toBe(0)
  })

  it('keeps rows that the live tables alone have', async () => {
    await sendAll()
    const before = await reports()
    const day = new Date(start_ms).toISOString().slice(0, 10)
    for await (const one of stage.world.audit.list(`${tenants[0].app_id}/s2s/${day}/`))
      if (one.kind === 'object') await stage.world.audit.replace(one.key!, (await one.read())!, Buffer.from('lost'))
    await deleted('events_per_day_v1', `app_id = '${tenants[0].app_id}'`)
    const { doubts, swapped, differing } = await stage.rebuild()
    expect([swapped, differing]).toEqual([true, ['events_per_day_v1']])
    expect(doubts).toContain('unreadable_object')
    expect(await reports()).toEqual(before)
  })
})
