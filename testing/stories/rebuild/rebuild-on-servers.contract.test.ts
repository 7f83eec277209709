import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { openS3AuditStore } from '@tributary/audit-store/s3'
import { openKafkaBroker } from '@tributary/broker/kafka'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { openEngine, openOwnEngine } from '@tributary/testing/engines/open-engine'
import type { TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import { openWorld } from '../replay/replay-world.ts'

const access_key = process.env.TRIBUTARY_TEST_S3_ACCESS_KEY ?? 'test'
const secret_key = process.env.TRIBUTARY_TEST_S3_SECRET_KEY ?? 'test'
const account = { region: 'us-east-1', credentials: { accessKeyId: access_key, secretAccessKey: secret_key } }
const command = join(import.meta.dirname, '..', '..', '..', 'packages', 'cli', 'bin', 'tributary.mjs')

async function openServers() {
  const [kafka, s3, clickhouse] = await Promise.all([
    openOwnEngine('kafka'),
    openEngine('s3'),
    openEngine('clickhouse'),
  ])
  const stop = async () => void (await Promise.all([kafka.stop(), s3.stop(), clickhouse.stop()]))
  return { kafka, s3, clickhouse, stop }
}

await describeWith('kafka, s3 and clickhouse', openServers, ({ kafka, s3, clickhouse: server }) => {
  it('the command refuses while a writer runs, then puts damaged tables right, drops its database, and writes go on', async () => {
    const bucket = `audit-${randomUUID()}`
    const client = new S3Client({ ...account, endpoint: s3.url, forcePathStyle: true })
    await client.send(new CreateBucketCommand({ Bucket: bucket }))
    client.destroy()
    const database = `rebuilt_${randomUUID().slice(0, 8)}`
    const open = (name: string) =>
      openClickhouseServer({
        ...{ url: server.url, database: name, connect_timeout_ms: 5000, query_timeout_ms: 60_000 },
        max_open_connections: 8,
      })
    const root = await open('default')
    await root.command(`CREATE DATABASE ${database}`)
    const [audit, broker, clickhouse, postgres] = await Promise.all([
      openS3AuditStore({ ...account, endpoint: s3.url, bucket }),
      openKafkaBroker({
        ...{ brokers: [kafka.url], client_id: 'test', linger_ms: 2, logger: pino({ level: 'silent' }) },
        ...{ send_bytes_max: 1_000_000, buffer_bytes_max: 64 * 1024 * 1024 },
        replication: { replication_factor: 1, insync_replicas_min: 1 },
      }),
      open(database),
      openTestPostgres(),
    ])
    await migrateClickhouse({ clickhouse })
    await broker.applyTopics(Object.values(topics).flatMap((topic) => [topic, deadLetterTopic(topic)]))
    const world = await openWorld({ clickhouse: clickhouse as TestClickhouse, pool: postgres.pool, broker, audit })
    onTestFinished(async () => {
      await root.command(`DROP DATABASE ${database} SYNC`)
      await Promise.all([audit.close(), broker.close(), clickhouse.close(), postgres.close(), root.close()])
    })
    const tenant = await world.newTenant()
    const events = Array.from({ length: 7 }, (_, n) => ({
      ...{ event_id: `${n}`, event_name: 'e', install_uuid: `i-${n}`, event_ts_ms: world.clock.now_ms },
    }))
    await world.sdk(tenant, JSON.stringify({ events }))
    await world.untilWritten()
    await clickhouse.command(`ALTER TABLE events_raw_v1 DELETE WHERE event_id = '3' SETTINGS mutations_sync = 2`)

    async function rebuild(...options: string[]) {
      const child = spawn(process.execPath, [command, 'rebuild', '--from-audit', '--json', ...options], {
        env: {
          PATH: process.env.PATH,
          TRIBUTARY_CLICKHOUSE_URL: `${server.url}/${database}`,
          TRIBUTARY_KAFKA_BROKERS: kafka.url,
          TRIBUTARY_KAFKA_REPLICATION_FACTOR: '1',
          TRIBUTARY_KAFKA_MIN_INSYNC_REPLICAS: '1',
          TRIBUTARY_POSTGRES_URL: postgres.url,
          TRIBUTARY_S3_BUCKET: bucket,
          TRIBUTARY_S3_ENDPOINT: s3.url,
          TRIBUTARY_S3_REGION: account.region,
          TRIBUTARY_S3_ACCESS_KEY_ID: access_key,
          TRIBUTARY_S3_SECRET_ACCESS_KEY: secret_key,
          TRIBUTARY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
      return { stdout, stderr, answer: stdout === '' ? null : JSON.parse(stdout) }
    }
    const count = async () => (await clickhouse.query<{ n: number }>('SELECT count() AS n FROM events_raw_v1'))[0]?.n
    const differing = (answer: { tables: { name: string; differs: boolean }[] }) =>
      answer.tables.filter(({ differs }) => differs).map(({ name }) => name)

    const dry = await rebuild('--dry-run')
    expect([dry.answer?.swapped, dry.stderr]).toEqual([false, ''])
    expect(differing(dry.answer)).toEqual(['events_raw_v1'])
    expect((await rebuild()).stderr).toContain('writers_running')
    expect(await count()).toBe(6)
    await world.close()
    const epoch = async () => (await postgres.pool.query('SELECT epoch FROM raw_clock')).rows
    const before = await epoch()
    const done = await rebuild()
    expect([done.answer?.swapped, done.stderr]).toEqual([true, ''])
    expect(await count()).toBe(7)
    expect(
      await root.query('SELECT name FROM system.databases WHERE name = {name:String}', { name: `${database}_rebuild` }),
    ).toEqual([])
    expect(await epoch()).not.toEqual(before)

    const again = await openWorld({ clickhouse: clickhouse as TestClickhouse, pool: postgres.pool, broker, audit })
    await again.sdk(tenant, JSON.stringify({ events: [{ ...events[0], event_id: '7' }, events[3]] }))
    await again.untilWritten()
    await again.close()
    expect(await count()).toBe(8)
    const sums = `SELECT sum(events) AS n FROM events_per_day_v1 WHERE NOT startsWith(app_id, '/')`
    expect(await clickhouse.query(sums)).toEqual([{ n: 8 }])
  })
})
