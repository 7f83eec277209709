import { join } from 'node:path'
import { openFolderAuditStore } from '@tributary/audit-store/folder'
import { createGroupCommit } from '@tributary/audit-store/group-commit'
import { openEmbeddedBroker } from '@tributary/broker/embedded'
import { topics } from '@tributary/contracts/topics'
import { applePostbackKeys } from '@tributary/domain/postback/keys'
import { openEmbeddedKeyValue } from '@tributary/key-value/embedded'
import { postbackGateway } from '@tributary/postback-gateway/app'
import { auditGroups } from '@tributary/postback-gateway/audit-groups'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { noNotifications } from '@tributary/testing/stores/no-notifications'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { runDriven } from '../process/driven-process.ts'

const topic = { ...topics.postbacksReceived, partitions: 4 }
const logger = pino({ level: 'error' })
const registry = new Registry()

async function openGateway(data_dir: string) {
  const now = Date.now
  const broker = await openEmbeddedBroker({ dir: join(data_dir, 'log'), now, partitions: topic.partitions })
  await broker.applyTopics([topic])
  const keyValue = await openEmbeddedKeyValue({ dir: join(data_dir, 'key-value'), now })
  const audit = await openFolderAuditStore({ dir: join(data_dir, 'audit') })
  const groupCommit = createGroupCommit({ store: audit, now, gateway: 'bench', ...auditGroups })
  const app = createHttpApp({ logger, trusted_proxies: ['127.0.0.1'] })
  await app.register(
    postbackGateway({
      ...noNotifications,
      ...{ broker, keyValue, groupCommit, registry, logger, now },
      ...{ partitions: topic.partitions, gateway_id: 'bench', postbackKeys: { current: applePostbackKeys } },
    }),
  )
  return {
    app,
    count: async () => (await broker.groupOffsets('bench', topic.name)).reduce((sum, { end }) => sum + end, 0),
    async close() {
      await groupCommit.close()
      await Promise.all([broker.close(), keyValue.close(), audit.close()])
    },
  }
}

if (import.meta.main) await runDriven(openGateway)
