import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { GetObjectCommand, ListObjectVersionsCommand, PutBucketVersioningCommand, S3Client } from '@aws-sdk/client-s3'
import { limits } from '@tributary/contracts/limits'
import { openPostgres } from '@tributary/postgres/postgres'
import { makeTenant } from '@tributary/testing/attack/tenants'
import { describeWithFleet } from '@tributary/testing/fleet/describe-with-fleet'
import { waitUntilNoLag } from '@tributary/testing/standalone/standalone-process'
import { verifyEvents } from '@tributary/testing/verify-events'
import type { Pool } from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { outliveRetention, searchLog } from './logged.ts'
import { type AppToUse, admin, certificate, livePerson, type Person, sendSigned } from './person.ts'
import { found, inflated, named, searchClickhouse, searchFiles, searchPostgres } from './search.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const admin_token = randomUUID()
const patience = { timeout: 180_000, interval: 100 }

/** Old records go from the disk as soon as their retention has ended. */
const kafka = {
  ...{ 'log.retention.check.interval.ms': '200', 'log.initial.task.delay.ms': '200' },
  'log.segment.delete.delay.ms': '0',
}
const env = {
  TRIBUTARY_ADMIN_TOKEN: admin_token,
  TRIBUTARY_TRUSTED_PROXIES: '127.0.0.1',
  TRIBUTARY_LINK_URL: 'https://go.example.com',
}

const bucket = 'tributary'

/** Every version of every audit object whose key begins so, as text. */
async function readObjects(client: S3Client, Prefix = ''): Promise<{ key: string; text: string }[]> {
  const { Versions = [], IsTruncated } = await client.send(new ListObjectVersionsCommand({ Bucket: bucket, Prefix }))
  expect(IsTruncated ?? false).toBe(false)
  return Promise.all(
    Versions.map(async ({ Key: key = '', VersionId }) => {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key, VersionId }))
      return { key, text: inflated(Buffer.from((await Body?.transformToByteArray()) ?? [])).toString('latin1') }
    }),
  )
}

const installs = Array.from({ length: 20 }, () => randomUUID())
const erased = installs.slice(0, 15)
/** The erased installs have more rows than a batch takes. */
const events_each = Math.ceil((1.05 * limits.erasure_rows_max) / erased.length)
/** Between two backfills: the machine is shared with the erasers. */
const between_ms = 2000
/** Dated after every erasure of this test. */
const ahead_ms = 3_600_000

/** Past events of all installs, and one of each that has yet to happen. */
function eventsToBackfill(): Record<string, unknown>[] {
  const now_ms = Date.now()
  return Array.from({ length: events_each + 1 }, (_, n) =>
    installs.map((install_uuid) => ({
      ...{ event_id: `${install_uuid}-${n}`, install_uuid, user_id: `user-${install_uuid}` },
      event_name: n === 0 ? 'app_install' : n === events_each ? 'later' : n % 5 === 1 ? 'purchase' : 'level_up',
      ...(n % 5 === 1 && { revenue: 2.5, currency: 'EUR', transaction_id: `${install_uuid}-${n}` }),
      event_ts_ms: n === events_each ? now_ms + ahead_ms : now_ms - (events_each - n) * 60_000,
    })),
  ).flat()
}

await describeWithFleet({ gateways: 1, writers: 1, attribution: 1, env, kafka }, (fleet) => {
  let s3: S3Client
  let pool: Pool
  let tributary: (...words: string[]) => Promise<unknown>
  let openApp: () => Promise<AppToUse>

  beforeAll(async () => {
    s3 = new S3Client({
      ...{ region: 'us-east-1', endpoint: fleet.engine('s3').url, forcePathStyle: true },
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    })
    // A replaced object would stay as an older version.
    const VersioningConfiguration = { Status: 'Enabled' } as const
    await s3.send(new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration }))
    const url = fleet.engine('postgres').url
    pool = openPostgres({ url, pool_max: 2, statement_timeout_ms: 60_000, connect_timeout_ms: 5000 })
    const names = ['admin-api', 'link-gateway', 'eraser', 'eraser', 'postback-forwarder', 'receipt-validator']
    const [admin_api, links] = await Promise.all(names.map((name) => fleet.startService(name)))
    const [admin_url, gateway_url] = [admin_api!.url, fleet.gateways[0]!.url]
    const cli_env = { PATH: process.env.PATH, TRIBUTARY_ADMIN_TOKEN: admin_token }
    tributary = (...words) =>
      promisify(execFile)(process.execPath, ['packages/cli/src/main.ts', ...words], {
        cwd: root,
        env: { ...cli_env, TRIBUTARY_URL: words[0] === 'backfill' ? gateway_url : admin_url },
      })
    openApp = async () => {
      const { app_id, link_id, server_key, ...keys } = await makeTenant(admin_url, admin_token, 'Acme')
      return {
        ...{ gateway_url, link_gateway_url: links!.url, admin_url, admin_token, app_id, link_id, server_key, keys },
        untilWritten: () => waitUntilNoLag(admin_url, admin_token),
      }
    }
  })
  afterAll(async () => {
    s3?.destroy()
    await pool?.end()
  })

  it('nothing of an erased install is left but what docs/privacy.md names', async () => {
    const app = await openApp()
    const people = await Promise.all(['203.0.113.77', '198.51.100.77'].map((ip) => livePerson(app, ip)))
    const [signed, asked] = people as [Person, Person]
    expect(await sendSigned(app, '/privacy/delete', { install_uuid: signed.install_uuid })).toBe(202)
    await tributary('erase', 'request', asked.install_uuid, '--app', app.app_id)
    await app.untilWritten()
    await tributary('erase', 'run')
    await app.untilWritten()

    for (const { install_uuid } of people) expect(await certificate(app, install_uuid)).toContain('"completed"')
    const what = Object.keys(signed.needles)
    const needles = Object.fromEntries(what.map((name) => [name, people.map((one) => one.needles[name]!)]))
    const places = [
      ...(await searchClickhouse(fleet.clickhouse, needles)),
      ...(await searchPostgres(pool, needles)),
      ...(await readObjects(s3)).flatMap(({ key, text }) => found(`audit: ${key}`, `${key}\n${text}`, needles)),
      ...(await searchLog(fleet.broker, needles)),
      // Every write that Redis ever took, also of keys that are gone.
      ...searchFiles(join(fleet.engine('redis').dir, 'appendonlydir'), needles, () => 'redis'),
    ]
    const all = [named.log, named.requests, named.proof, named.lost_clicks, named.raw_copies]
    // A delete names an install only when its part was merged meanwhile.
    const allowed = [...all, named.mutations]
    expect(places.filter((place) => !allowed.some((one) => one.test(place)))).toEqual([])
    // What remains is found, so whatever else remained would be.
    expect(all.filter((one) => !places.some((place) => one.test(place)))).toEqual([])

    // Days later.
    await outliveRetention(fleet.broker)
    // 62 days, after which copies of raw data have followed (docs/privacy.md).
    await pool.query('DELETE FROM raw_erasures')
    await pool.query('VACUUM FULL')
    await pool.query('CHECKPOINT')
    const { rows } = await pool.query<{ data_directory: string }>('SHOW data_directory')
    const files = [
      ...searchFiles(join(fleet.engine('kafka').dir, 'data'), needles, (name) => `log: ${name}`, '.log'),
      ...searchFiles(join(rows[0]!.data_directory, 'base'), needles, (name) => `base of postgres ${name}`),
      ...(await searchLog(fleet.broker, needles)),
    ]
    expect(files.filter((place) => !named.requests.test(place) && !named.offsets.test(place))).toEqual([])
  })

  it('two erasers, each killed at work, erase installs during backfills of them; the same backfill afterwards brings back only what is dated later, and no other app loses anything', async () => {
    const app = await openApp()
    const sibling = await openSibling(pool, app)
    const dir = mkdtempSync(join(tmpdir(), 'tributary-backfill-'))
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
    const backfill = (of: AppToUse) => {
      const file = join(dir, `${of.app_id}.jsonl`)
      writeFileSync(file, lines)
      return tributary('backfill', file, '--key', of.server_key)
    }
    const events = eventsToBackfill()
    const lines = events.map((event) => JSON.stringify(event)).join('\n')
    await backfill(sibling)
    await backfill(app)
    const countOf = async (of: AppToUse) => {
      const rows = await fleet.clickhouse.query<{ install_uuid: string; events: number }>(
        `SELECT install_uuid, toUInt32(count()) AS events FROM events_raw_v1 WHERE app_id = '${of.app_id}' GROUP BY install_uuid`,
      )
      return Object.fromEntries(rows.map(({ install_uuid, events: count }) => [install_uuid, count]))
    }
    for (const install_uuid of erased) await admin(app, 'erasures', { app_id: app.app_id, install_uuid })
    let is_over = false
    const run = tributary('erase', 'run').finally(() => {
      is_over = true
    })
    const backfilled = (async () => {
      while (!is_over) {
        await backfill(app)
        await pause(between_ms)
      }
    })()
    for (const eraser of fleet.others.filter(({ name }) => name.endsWith('-eraser'))) {
      await vi.waitFor(async () => expect(is_over || (await openBatches(pool)).length > 0).toBe(true), patience)
      await eraser.kill()
      await eraser.restart()
    }
    await Promise.all([run, backfilled])
    await app.untilWritten()
    await backfill(app)
    await app.untilWritten()
    await tributary('erase', 'run')

    const all = Object.fromEntries(installs.map((install_uuid) => [install_uuid, events_each + 1]))
    expect(await countOf(app)).toEqual({
      ...all,
      ...Object.fromEntries(erased.map((install_uuid) => [install_uuid, 1])),
    })
    expect(await countOf(sibling)).toEqual(all)
    const { differing, doubled } = await verifyEvents(fleet.clickhouse, [], [])
    expect({ differing: Object.entries(differing).filter(([, groups]) => groups > 0), doubled }).toEqual({
      ...{ differing: [], doubled: 0 },
    })
    const decided = await fleet.clickhouse.query<{ app_id: string; installs: number }>(
      `SELECT app_id, toUInt32(uniqExact(install_uuid)) AS installs FROM installs_v1
       WHERE app_id IN ('${app.app_id}', '${sibling.app_id}') GROUP BY app_id`,
    )
    expect(Object.fromEntries(decided.map((one) => [one.app_id, one.installs]))).toEqual({
      [app.app_id]: installs.length - erased.length,
      [sibling.app_id]: installs.length,
    })
    for (const { text } of await readObjects(s3, `${app.app_id}/s2s/`))
      for (const { install_uuid, event_name } of JSON.parse(text).body.events)
        if (erased.includes(install_uuid)) expect(event_name).toBe('later')
    const ofSibling = await readObjects(s3, `${sibling.app_id}/s2s/`)
    expect(ofSibling.flatMap(({ text }) => JSON.parse(text).body.events)).toHaveLength(events.length)
    expect(ofSibling.filter(({ text }) => text.includes('rewritten_at_ms'))).toEqual([])
  })
})

/** Another app of the company, for its backend. */
async function openSibling(pool: Pool, app: AppToUse): Promise<AppToUse> {
  const { rows } = await pool.query('SELECT company_id FROM apps WHERE app_id = $1', [app.app_id])
  const { app_id } = JSON.parse(await admin(app, 'apps', { ...rows[0], name: 'Sibling', platform: 'android' }))
  const { key } = JSON.parse(await admin(app, 'keys', { app_id, label: 'backend', allowed_events: [] }))
  return { ...app, app_id, server_key: key }
}

const openBatches = async (pool: Pool) => (await pool.query('SELECT batch FROM erasure_batches')).rows
