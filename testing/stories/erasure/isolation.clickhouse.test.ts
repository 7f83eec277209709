import { randomUUID } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Click } from '@tributary/contracts/attribution/click'
import type { InstallFact } from '@tributary/contracts/attribution/found'
import { day_ms } from '@tributary/contracts/limits'
import { tableNames, tables } from '@tributary/contracts/tables'
import { utcDay } from '@tributary/domain/utc-day'
import { auditRewriting } from '@tributary/eraser/rewrite-audit-objects'
import { clickColumns, clickLine } from '@tributary/tables/attribution/clicks'
import { factColumns, factLine } from '@tributary/tables/attribution/facts'
import type { SentEvent } from '@tributary/testing/oracle/history'
import { now_ms as written_ms } from '@tributary/testing/oracle/random-history'
import { memoryAuditStore } from '@tributary/testing/twins/memory-audit-store'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ErasureStage, openErasureStage } from './stage.ts'

let stage: ErasureStage
beforeAll(async () => {
  stage = await openErasureStage()
}, 60_000)
afterAll(() => stage.close())

/** Prefixes of each other, what SQL takes for a wildcard, what looks like a folder or a number, and the longest. */
const ids = ['a', 'ab', 'a_', 'a-', '_', '1', '01', 's2s', 'bulk', 'audit', 'privacy', 'a'.repeat(64), 'A']
const now_ms = Date.now()
let places = 0
const place = () => {
  places += 1
  return { topic: 't@a', partition: 0, offset: places, index: 0 }
}
const click_id = (n: number) => `0199${n.toString(16).padStart(4, '0')}-0000-7000-8000-000000000000`

const eventsOf = (app: number, uuids: readonly string[]) =>
  uuids.flatMap((install_uuid) =>
    [0, 1].map(
      (n): SentEvent => ({
        ...{ app, install_uuid, partition: 0, source: 's2s', received_at_ms: written_ms, event_name: 'purchase' },
        ...{ event_id: `${install_uuid}${n}`, event_ts_ms: written_ms - n * day_ms, revenue: 5, currency: null },
        transaction_id: install_uuid,
      }),
    ),
  )

const clickOf = (app_id: string, n: number): Click => ({
  ...{ v: 1, click_id: click_id(n), company_id: 'co_1', app_id, link_id: 'l', partner: 'acme', campaign: null },
  ...{ ad_group: null, creative: null, ext_click_id: null, sub1: null, sub2: null, sub3: null, sub4: null, sub5: null },
  ...{ deep_link: null, lookback_hours: null, clicked_at_ms: now_ms - day_ms, filtered_reason: null },
  ...{ ip: '198.51.100.9', country: null, user_agent: 'a', os: 'android', os_major: 14, model: 'M' },
  device_hashes: [`d${n}`],
})

const factOf = (app_id: string, install_uuid: string, n: number): InstallFact => ({
  ...{ kind: 'install', v: 1, company_id: 'co_1', app_id, install_uuid, received_at_ms: now_ms - day_ms },
  ...{ place: place(), event_name: 'app_install', is_sdk: true, platform: 'android', installed_at_ms: now_ms - day_ms },
  ...{ ip: '198.51.100.9', os_major: 14, model: 'M', device_hashes: [`d${n}`], user_id: install_uuid, referrer: null },
  ...{ named_click: null, referrer_click_server_s: null, install_begin_server_s: null },
})

const insert = (table: string, columns: readonly string[], lines: string[]) =>
  stage.clickhouse.insert({ table, columns, lines: lines.join('\n'), token: randomUUID() })

/** Every row of an app in every table. */
async function rowsOf(app_id: string): Promise<Record<string, unknown[]>> {
  const rows: Record<string, unknown[]> = {}
  for (const table of tableNames) {
    if ('of_no_app' in tables[table] || table === 'schema_migrations_v1') continue
    const columns = table === 'event_installs_per_day_v1' ? 'day, event_name, uniqExactMerge(installs)' : '*'
    const groups = table === 'event_installs_per_day_v1' ? 'GROUP BY day, event_name' : ''
    const sql = `SELECT ${columns} FROM ${table} WHERE app_id = '${app_id}' ${groups} ORDER BY ALL`
    rows[table] = await stage.clickhouse.query(sql)
  }
  return rows
}

test('an erasure of any installs of one app touches no row and no object of another app of its company or of another', async () => {
  const property = fc.asyncProperty(fc.subarray(ids, { minLength: 1 }), fc.boolean(), async (erased, same_company) => {
    const [app_id, other] = [await stage.makeApp(), await stage.makeApp()]
    if (same_company)
      await stage.pool.query(
        'UPDATE apps SET company_id = (SELECT company_id FROM apps WHERE app_id = $1) WHERE app_id = $2',
        [app_id, other],
      )
    const { rows: apps } = await stage.pool.query<{ app_id: string; company_id: string }>(
      'SELECT app_id, company_id FROM apps WHERE app_id = ANY($1)',
      [[app_id, other]],
    )
    await stage.write({ events: [0, 1].flatMap((app) => eventsOf(app, ids)), decisions: [] }, [app_id, other])
    const audit = memoryAuditStore()
    const day = utcDay(now_ms)
    const line = (uuid: string) =>
      JSON.stringify({ received_at_ms: now_ms - 1, ip: '', headers: {}, body: { events: [{ install_uuid: uuid }] } })
    for (const one of apps) {
      await insert(
        'install_facts_v1',
        factColumns,
        ids.map((uuid, n) => factLine(factOf(one.app_id, uuid, n))),
      )
      await insert(
        'clicks_raw_v1',
        clickColumns,
        ids.map((_, n) => clickLine(clickOf(one.app_id, n), place())),
      )
      const root = `audit/${day.replaceAll('-', '/')}/${one.company_id}/${one.app_id}`
      audit.objects.set(`${root}/1-g-1.jsonl.gz`, gzipSync(ids.map((uuid) => `${line(uuid)}\n`).join('')))
      for (const uuid of ids) {
        const body = JSON.parse(line(uuid))
        const single = { ...body, event_id: uuid, body_sha256: '0'.repeat(64), body: body.body.events[0] }
        audit.objects.set(`${one.app_id}/s2s/${day}/${uuid}.json`, Buffer.from(JSON.stringify(single)))
        audit.objects.set(`${one.app_id}/s2s/bulk/${day}/${uuid}.json`, Buffer.from(line(uuid)))
        audit.objects.set(`${one.app_id}/privacy/${day}/${uuid}~1.json`, Buffer.from('{}'))
      }
    }
    const archive = `clicks/${utcDay(now_ms - day_ms).replaceAll('-', '/')}/log/0/0-1.jsonl.gz`
    const archived = apps.flatMap((one) => ids.map((_, n) => JSON.stringify(clickOf(one.app_id, n))))
    audit.objects.set(archive, gzipSync(archived.map((one) => `${one}\n`).join('')))
    const objectsOf = () =>
      [...audit.objects].filter(([key]) => key.includes(other)).map(([key, bytes]) => [key, bytes.toString('base64')])
    const before = [await rowsOf(other), objectsOf()]

    await stage.request(app_id, erased)
    const now = () => now_ms + 1
    await stage.run({
      now,
      audit: auditRewriting({
        pool: stage.pool,
        masterKeys: stage.masterKeys,
        audit,
        now,
        logger: pino({ level: 'silent' }),
      }),
    })
    expect([await rowsOf(other), objectsOf()]).toEqual(before)
    const kept = ids.filter((uuid) => !erased.includes(uuid))
    const left = await stage.clickhouse.query<{ install_uuid: string }>(
      `SELECT DISTINCT install_uuid FROM events_raw_v1 WHERE app_id = '${app_id}' ORDER BY 1`,
    )
    expect(left.map(({ install_uuid }) => install_uuid)).toEqual(kept.toSorted())
    const singles = [...audit.objects.keys()].filter((key) => key.startsWith(`${app_id}/s2s/${day}/`))
    expect(singles.map((key) => key.split('/').at(-1)).toSorted()).toEqual(
      kept.map((uuid) => `${uuid}.json`).toSorted(),
    )
    const clicks = gunzipSync(audit.objects.get(archive)!).toString().split('\n').slice(0, -1)
    const ofOther = clicks.filter((one) => JSON.parse(one).app_id === other)
    expect([ofOther.length, clicks.length - ofOther.length]).toEqual([ids.length, kept.length])
  })
  await fc.assert(property, { numRuns: 5 })
})
