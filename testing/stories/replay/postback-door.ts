import { createGroupCommit } from '@tributary/audit-store/group-commit'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { consumers } from '@tributary/contracts/consumers'
import { topics } from '@tributary/contracts/topics'
import { postbackGateway } from '@tributary/postback-gateway/app'
import { auditGroups } from '@tributary/postback-gateway/audit-groups'
import { postbackWriter } from '@tributary/postback-writer/postback-writer'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import type { AppleTwin } from '@tributary/testing/postback/apple-twin'
import { noNotifications } from '@tributary/testing/stores/no-notifications'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, vi } from 'vitest'
import { patience, type World } from './replay-world.ts'

const logger = pino({ level: 'silent' })
export type PostbackDoor = Awaited<ReturnType<typeof openPostbackDoor>>

/** Gateway and writer of postbacks over the log and the audit store of the world. */
export async function openPostbackDoor({ audit, broker, clock }: World, clickhouse: Clickhouse, apple: AppleTwin) {
  const now = () => clock.now_ms
  const groupCommit = createGroupCommit({ store: audit, now, gateway: 'test', ...auditGroups })
  const app = createHttpApp({ logger })
  const partitions = await broker.partitionCount(topics.postbacksReceived.name)
  const postbackKeys = { current: () => apple.keys }
  const stores = { broker, groupCommit, keyValue: memoryKeyValue(now), postbackKeys }
  await app.register(
    postbackGateway({
      ...noNotifications,
      ...stores,
      partitions,
      gateway_id: 'test',
      now,
      logger,
      registry: new Registry(),
    }),
  )
  const writer = await runConsumer({
    ...{ broker, logger, now, registry: new Registry() },
    consumer: postbackWriter({ clickhouse, postbackKeys, logger }),
    fetch: { bytes_min: 1, bytes_max: 64 * 1024, wait_ms_max: 10 },
  })
  return {
    async send(protocol: 'skan' | 'aak', payload: string) {
      const answer = await app.inject({ method: 'POST', url: `/${protocol}-postback`, payload })
      expect(answer.statusCode).toBe(200)
    },
    async untilWritten() {
      const { name, topic } = consumers.postbackWriter
      await vi.waitFor(async () => {
        const offsets = await broker.groupOffsets(name, topic.name)
        expect(offsets.filter(({ committed, earliest, end }) => (committed ?? earliest) < end)).toEqual([])
      }, patience)
    },
    async close() {
      await app.close()
      await writer.close()
      await groupCommit.close()
    },
  }
}
