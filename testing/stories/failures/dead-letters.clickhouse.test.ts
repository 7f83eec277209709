import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedBroker } from '@tributary/broker/embedded'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { openTestClickhouse, type TestClickhouse } from '@tributary/testing/engines/test-clickhouse'
import { openTestPostgres, type TestPostgres } from '@tributary/testing/engines/test-postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tellDeadLetterStory } from './dead-letter-story.ts'

const day_ms = 24 * 3600 * 1000
let clickhouse: TestClickhouse
let postgres: TestPostgres
let dir: string
beforeAll(async () => {
  ;[clickhouse, postgres] = await Promise.all([openTestClickhouse(), openTestPostgres()])
  dir = await mkdtemp(join(tmpdir(), 'tributary-dead-'))
})
afterAll(async () => {
  await Promise.all([clickhouse.close(), postgres.close()])
  await rm(dir, { recursive: true, force: true })
})

test('letters on the embedded log come back exactly once, and those that do not go when their 30 days are over', async () => {
  let later_ms = 0
  const log = await openEmbeddedBroker({ dir, now: () => Date.now() + later_ms, partitions: 3 })
  await log.applyTopics(Object.values(topics).flatMap((topic) => [topic, deadLetterTopic(topic)]))
  await tellDeadLetterStory(log, clickhouse, postgres.pool)

  const dead = deadLetterTopic(topics.eventsAccepted)
  const kept = async () =>
    (await log.groupOffsets('any', dead.name)).reduce((sum, { earliest, end }) => sum + end - earliest, 0)
  later_ms = dead.retention_ms - day_ms
  await log.sweepRetention()
  expect(await kept()).toBeGreaterThan(0)
  later_ms = dead.retention_ms + day_ms
  await log.sweepRetention()
  expect(await kept()).toBe(0)
  await log.close()
})
