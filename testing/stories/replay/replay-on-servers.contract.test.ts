import { randomUUID } from 'node:crypto'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { openS3AuditStore } from '@tributary/audit-store/s3'
import { openKafkaBroker } from '@tributary/broker/kafka'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { openEngine, openOwnEngine } from '@tributary/testing/engines/open-engine'
import { openTestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import { loseEvents, openWorld, tablesOf } from './replay-world.ts'

const account = {
  region: 'us-east-1',
  credentials: {
    accessKeyId: process.env.TRIBUTARY_TEST_S3_ACCESS_KEY ?? 'test',
    secretAccessKey: process.env.TRIBUTARY_TEST_S3_SECRET_KEY ?? 'test',
  },
}

/** Kafka of the test's own: a replay reads the one topic of accepted events, whoever wrote to it. */
async function openServers() {
  const [kafka, s3] = await Promise.all([openOwnEngine('kafka'), openEngine('s3')])
  return { kafka, s3, stop: async () => void (await Promise.all([kafka.stop(), s3.stop()])) }
}

await describeWith('kafka and s3', openServers, (servers) => {
  it('a replay from Kafka and one from S3 bring back what was lost', async () => {
    const bucket = `audit-${randomUUID()}`
    const client = new S3Client({ ...account, endpoint: servers.s3.url, forcePathStyle: true })
    await client.send(new CreateBucketCommand({ Bucket: bucket }))
    client.destroy()
    const [audit, broker, clickhouse, postgres] = await Promise.all([
      openS3AuditStore({ ...account, endpoint: servers.s3.url, bucket }),
      openKafkaBroker({
        ...{ brokers: [servers.kafka.url], client_id: 'test', linger_ms: 2, logger: pino({ level: 'silent' }) },
        ...{ send_bytes_max: 1_000_000, buffer_bytes_max: 64 * 1024 * 1024 },
        replication: { replication_factor: 1, insync_replicas_min: 1 },
      }),
      openTestClickhouse(),
      openTestPostgres(),
    ])
    await broker.applyTopics(Object.values(topics).flatMap((topic) => [topic, deadLetterTopic(topic)]))
    const world = await openWorld({ clickhouse, pool: postgres.pool, broker, audit })
    onTestFinished(async () => {
      await world.close()
      await Promise.all([audit.close(), broker.close(), clickhouse.close(), postgres.close()])
    })

    const tenant = await world.newTenant()
    const event = (n: number) => ({
      ...{ event_id: `${n}`, event_name: 'e', install_uuid: `i-${n % 7}`, event_ts_ms: world.clock.now_ms },
      props: { n },
    })
    for (let n = 0; n < 40; n += 4) {
      await world.sdk(tenant, JSON.stringify({ events: [event(n), event(n + 1)] }), n % 8 === 0)
      await world.single(tenant, event(n + 2))
      await world.bulk(tenant, [event(n + 3), event(n), { ...event(n), event_id: undefined }])
      world.clock.now_ms += 1000
    }
    await world.untilWritten()
    const before = await tablesOf(clickhouse)
    for (const source of ['log', 'audit'] as const) {
      const lost = await loseEvents(clickhouse, (row) => BigInt(row.event_key) % 3n === 0n)
      expect(await world.replay({ source })).toMatchObject({ state: 'done', filled: lost })
      await world.untilWritten()
      expect(await tablesOf(clickhouse)).toEqual(before)
      expect(await world.replay({ source, dry_run: true })).toMatchObject({ state: 'done', filled: 0 })
    }
  })
})
