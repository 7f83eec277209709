import { randomUUID } from 'node:crypto'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { openS3AuditStore } from '@tributary/audit-store/s3'
import { openKafkaBroker } from '@tributary/broker/kafka'
import { hour_ms } from '@tributary/contracts/limits'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { openEngine, openOwnEngine } from '@tributary/testing/engines/open-engine'
import { openTestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import { openWorld } from '../replay/replay-world.ts'
import { openOwnPool, openReconciler, send, start_ms } from './reconcile-world.ts'

const account = {
  region: 'us-east-1',
  credentials: {
    accessKeyId: process.env.TRIBUTARY_TEST_S3_ACCESS_KEY ?? 'test',
    secretAccessKey: process.env.TRIBUTARY_TEST_S3_SECRET_KEY ?? 'test',
  },
}

/** Kafka of the test's own: the reconciler waits for all that is in its topics. */
async function openServers() {
  const [kafka, s3] = await Promise.all([openOwnEngine('kafka'), openEngine('s3')])
  return { kafka, s3, stop: async () => void (await Promise.all([kafka.stop(), s3.stop()])) }
}

await describeWith('kafka and s3', openServers, (servers) => {
  it('finds nothing in Kafka, S3 and tables that agree, and then the record that Kafka lacks', async () => {
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
    const own = await openOwnPool(postgres)
    onTestFinished(async () => {
      await world.close()
      await own.end()
      await Promise.all([audit.close(), broker.close(), clickhouse.close(), postgres.close()])
    })
    world.clock.now_ms = start_ms
    const reconciler = openReconciler({ world, clickhouse, pool: own, asking: postgres.pool })
    const tenant = await world.newTenant()
    await send(world, tenant, 3)
    await world.single(tenant, { event_id: 'b', event_name: 'e', install_uuid: 'i', event_ts_ms: start_ms })
    await world.bulk(tenant, [{ event_id: 'c', event_name: 'e', install_uuid: 'i', event_ts_ms: start_ms }])
    await world.untilWritten()
    expect(await reconciler.ask({ since_ms: start_ms })).toMatchObject({ hours: 1, differences: [] })

    // A letter of another record: it is read, and explains nothing.
    const letter = { topic: deadLetterTopic(topics.eventsAccepted).name, partition: 0, key: null }
    await broker.publish([
      { ...letter, value: Buffer.from('{}'), headers: { reason: 'undecodable', source_offset: '1' } },
    ])
    world.log.before = async () => {
      throw new Error('dropped')
    }
    await expect(send(world, tenant, 2)).rejects.toThrow('answered 503')
    const lost = { app_id: tenant.app_id, store: 'events.accepted.v1', expected: 7, found: 5 }
    expect((await reconciler.ask({ since_ms: start_ms })).differences).toMatchObject([lost])
    world.clock.now_ms += 2 * hour_ms
    await postgres.pool.query('TRUNCATE reconcile_differences')
    await reconciler.run()
    expect(await reconciler.known()).toMatchObject([lost])
  }, 180_000)
})
