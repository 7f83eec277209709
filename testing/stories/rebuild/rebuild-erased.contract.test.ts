import { day_ms, hour_ms } from '@tributary/contracts/limits'
import { runErasures } from '@tributary/eraser/run-erasures'
import { queueErasures } from '@tributary/erasure/queue-erasures'
import { requestRun } from '@tributary/erasure/runs'
import { noteLog } from '@tributary/erasure/unread-events'
import { runRetention } from '@tributary/retention/run-retention'
import { changeCompany } from '@tributary/tenancy/companies/tenants'
import { openMasterKeys } from '@tributary/tenancy/secrets/master-keys'
import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { memoryRedecisions } from '@tributary/testing/twins/memory-redecisions'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { masterKeys, send } from '../reconcile/reconcile-world.ts'
import type { Tenant } from '../replay/replay-world.ts'
import { openDatabases, openRebuildStage, type RebuildStage, start_ms } from './rebuild-stage.ts'

const logger = pino({ level: 'silent' })

await describeWithEngine('clickhouse', (engine) => {
  let databases: Awaited<ReturnType<typeof openDatabases>>
  let stage: RebuildStage
  let tenant: Tenant
  beforeAll(async () => {
    databases = await openDatabases(engine)
  })
  afterAll(() => databases.close())
  beforeEach(async () => {
    stage = await openRebuildStage(databases)
    tenant = await stage.world.newTenant()
  })
  afterEach(() => stage.close())

  const lose = (where: string) =>
    stage.live.command(`ALTER TABLE events_raw_v1 DELETE WHERE ${where} SETTINGS mutations_sync = 2`)
  const installs = () => stage.live.query('SELECT DISTINCT install_uuid FROM events_raw_v1 ORDER BY 1')

  /** Erases an install from the tables. Its audit objects stay as they are, as if they were not rewritten yet. */
  async function erase(install_uuid: string) {
    const { pool, live, now, world } = stage
    const { app_id } = tenant
    await queueErasures({ pool, masterKeys }, [{ app_id, install_uuid, requested_at_ms: now() - 1, asked_by: 'sdk' }])
    const nothing = async () => new Map()
    await runErasures(
      {
        ...{ pool, masterKeys, clickhouse: live, redecisions: memoryRedecisions(), keyValue: memoryKeyValue(now) },
        ...{ now, logger, noteLog: () => noteLog(world.broker), findOlderWork: async () => [], pause: async () => {} },
        audit: { findAudited: nothing, rewriteApp: nothing, rewriteArchives: nothing, rewriteNoted: async () => {} },
      },
      await requestRun(pool, now()),
      new AbortController().signal,
    )
  }

  it('leaves out what was erased, and reports still take it off once', async () => {
    for (const install_uuid of ['gone', 'kept'])
      await send(stage.world, tenant, 3, { install_uuid, revenue: 2, currency: 'USD', transaction_id: install_uuid })
    await stage.world.untilWritten()
    stage.world.clock.now_ms += hour_ms
    await erase('gone')
    const before = await stage.reportsOf(tenant)
    expect(await installs()).toEqual([{ install_uuid: 'kept' }])
    expect(await stage.rebuild()).toMatchObject({ swapped: false, differing: [] })

    // With another key nobody can look up what was erased.
    const keys = openMasterKeys([{ id: 'other', key: Buffer.alloc(32, 8) }])
    expect(await stage.rebuild({ keys })).toMatchObject({ swapped: false, differing: [] })

    await lose('1')
    expect(await stage.rebuild()).toMatchObject({ swapped: true, differing: ['events_raw_v1'] })
    expect(await installs()).toEqual([{ install_uuid: 'kept' }])
    expect(await stage.reportsOf(tenant)).toEqual(before)
  })

  it('keeps the sums of days whose raw events and objects retention deleted', async () => {
    const { world, pool, live } = stage
    world.clock.now_ms = start_ms - 25 * day_ms
    await send(world, tenant, 3, { user_id: 'u' })
    world.clock.now_ms += 2 * day_ms
    // A late event of an expired day, in an object that is kept.
    await send(world, tenant, 2, { event_ts_ms: start_ms - 25 * day_ms, revenue: 3, currency: 'USD' })
    world.clock.now_ms = start_ms
    const [lost] = await send(world, tenant, 3)
    await world.untilWritten()
    const { rows } = await pool.query('SELECT company_id FROM apps WHERE app_id = $1', [tenant.app_id])
    await changeCompany(pool, rows[0].company_id, { keep_raw_days: 24 }, { actor: 't', request_id: 'r', now_ms: 0 })
    const { audit, broker } = world
    await runRetention(
      {
        ...{ pool, clickhouse: live, broker, audit, now: stage.now, wait_ms: 1000, logger },
        pause: async () => {},
      },
      new AbortController().signal,
    )
    const sums = () =>
      live.query(
        `SELECT day, sum(events) AS n FROM events_per_day_v1 WHERE app_id = {app:String} GROUP BY day ORDER BY day`,
        { app: tenant.app_id },
      )
    const before = [await sums(), await stage.reportsOf(tenant)]
    expect(before[0]).toHaveLength(2)
    expect(await live.query('SELECT count() AS n FROM events_raw_v1')).toEqual([{ n: 3 }])
    expect(await stage.rebuild()).toMatchObject({ swapped: false, differing: [] })

    await lose(`event_id = '${lost}'`)
    expect(await stage.rebuild()).toMatchObject({ swapped: true, differing: ['events_raw_v1'] })
    expect([await sums(), await stage.reportsOf(tenant)]).toEqual(before)
  })
})
