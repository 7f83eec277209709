import { openKafkaBroker } from '@tributary/broker/kafka'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import { openTestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres } from '@tributary/testing/engines/test-postgres'
import { pino } from 'pino'
import { it } from 'vitest'
import { tellDeadLetterStory } from './dead-letter-story.ts'

await describeWithOwnEngine('kafka', (kafka) => {
  it('letters on Kafka come back exactly once, also after a retry that died half-way', async () => {
    const [clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
    const broker = await openKafkaBroker({
      ...{ brokers: [kafka.url], client_id: 'test', logger: pino({ level: 'silent' }) },
      ...{ linger_ms: 2, send_bytes_max: 1_000_000, buffer_bytes_max: 64 * 1024 * 1024 },
    })
    await broker.applyTopics(Object.values(topics).flatMap((topic) => [topic, deadLetterTopic(topic)]))
    await tellDeadLetterStory(broker, clickhouse, postgres.pool)
    await broker.close()
    await Promise.all([clickhouse.close(), postgres.close()])
  })
})
