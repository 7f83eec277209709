import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { openFolderAuditStore } from '@tributary/audit-store/folder'
import { createGroupCommit } from '@tributary/audit-store/group-commit'
import { openEmbeddedBroker } from '@tributary/broker/embedded'
import { topics } from '@tributary/contracts/topics'
import { applePostbackKeys } from '@tributary/domain/postback/keys'
import { openEmbeddedKeyValue } from '@tributary/key-value/embedded'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { noNotifications } from '@tributary/testing/stores/no-notifications'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { postbackGateway } from '../src/app.ts'
import { auditGroups } from '../src/audit-groups.ts'

/** The message to the process. Its own ones are its port, and `publishing` once a log that hangs has got something. */
export interface Order {
  dir: string
  /** The log takes nothing and never says so. */
  log_hangs: boolean
}

function hang(): Promise<never> {
  process.send?.('publishing')
  return new Promise(() => {})
}

/** A gateway over embedded engines that a test may kill. */
async function main() {
  process.once('disconnect', () => process.exit())
  const [{ dir, log_hangs }] = (await once(process, 'message')) as [Order]
  const now = Date.now
  const topic = { ...topics.postbacksReceived, partitions: 2 }
  const broker = await openEmbeddedBroker({ dir: join(dir, 'log'), now, partitions: topic.partitions })
  await broker.applyTopics([topic])
  const store = await openFolderAuditStore({ dir: join(dir, 'audit') })
  const keyValue = await openEmbeddedKeyValue({ dir: join(dir, 'key-value'), now })
  const gateway_id = `${process.pid}`
  const app = createHttpApp({ logger: pino({ level: 'silent' }), trusted_proxies: ['127.0.0.1'] })
  await app.register(
    postbackGateway({
      ...noNotifications,
      ...{ now, gateway_id, keyValue, partitions: topic.partitions },
      ...{ registry: new Registry(), logger: pino({ level: 'silent' }) },
      postbackKeys: { current: applePostbackKeys },
      groupCommit: createGroupCommit({
        ...{ store, now, gateway: gateway_id, ...auditGroups },
      }),
      broker: { publish: (records) => (log_hangs ? hang() : broker.publish(records)) },
    }),
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  process.send?.((app.server.address() as AddressInfo).port)
}

await main()
