import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { adminApi } from '@tributary/admin-api/app'
import { startQuotaReconciliation } from '@tributary/admin-api/quota/start-quota-reconciliation'
import { apiDocs } from '@tributary/api-docs/api-docs'
import { createGroupCommit } from '@tributary/audit-store/group-commit'
import { consumers } from '@tributary/contracts/consumers'
import { limits } from '@tributary/contracts/limits'
import { topics } from '@tributary/contracts/topics'
import { eventWriter } from '@tributary/event-writer/event-writer'
import { startSweep } from '@tributary/event-writer/money/start-sweep'
import { ingest_needs, ingestGateway } from '@tributary/ingest-gateway/app'
import { reportApi } from '@tributary/report-api/app'
import type { ConsumerDefinition } from '@tributary/service-kit/consumer/define-consumer'
import { gatedConsumer } from '@tributary/service-kit/consumer/gated-consumer'
import { runConsumer } from '@tributary/service-kit/consumer/run-consumer'
import { fenceAdmin } from '@tributary/service-kit/http/admin-fence'
import { requireAddress, serve } from '@tributary/service-kit/http/serve'
import { lockDataDir } from '@tributary/service-kit/service/data-dir-lock'
import { createMisfitTroubles } from '@tributary/service-kit/service/misfit-troubles'
import type { Service } from '@tributary/service-kit/service/run-service'
import { systemStatus } from '@tributary/service-kit/service/system-status'
import { openCredentials } from '@tributary/tenancy/credentials/credentials-cache'
import { openFxRates } from '@tributary/tenancy/fx-rates'
import { watchSecrets } from '@tributary/tenancy/secrets/unreadable-secrets'
import type { Config } from './config.ts'
import { makeDemoCompany } from './demo.ts'
import { openEngines } from './engines.ts'
import { areEventsGone } from './events-gone.ts'
import { masterKeyFileTroubles, openLocalMasterKeys } from './local-master-keys.ts'
import { openAdminToken } from './local-secrets.ts'
import { watchDisk } from './watch-disk.ts'
import { keepTablesWhole } from './whole-tables.ts'
import { writeStart } from './write-start.ts'

/** Everything in one process on one port; resolves once it takes traffic. `say` shows a line to the person at the terminal. */
export async function startStandalone(config: Config, service: Service, say: (line: string) => void): Promise<void> {
  const { logger, registry, now, onClose, troubles } = service
  const data_dir = resolve(config.TRIBUTARY_DATA_DIR)
  // A folder is in use by itself, and says so: its lock comes first. A new one is not made in vain.
  if (!existsSync(data_dir)) await requireAddress(config)
  const lock = lockDataDir(data_dir)
  onClose('data folder lock', async () => lock.release())
  const admin_token = config.TRIBUTARY_ADMIN_TOKEN ?? openAdminToken(data_dir)

  const disk = await watchDisk(config, data_dir, service)
  const { audit, broker, clickhouse, keyValue, pool } = await openEngines(config, data_dir, disk, service)
  const masterKeys = await openLocalMasterKeys(pool, data_dir, config)
  if (config.TRIBUTARY_MASTER_KEY === undefined) troubles.push(masterKeyFileTroubles(data_dir))
  watchSecrets(pool, masterKeys, service)
  const credentials = await openCredentials({ pool, masterKeys, now, logger, registry })
  onClose('credentials', () => credentials.close())

  const embedded = config.TRIBUTARY_CLICKHOUSE_URL === undefined
  const events_gone = embedded && (await areEventsGone({ clickhouse, broker, audit, pool }))
  const tables = embedded ? await keepTablesWhole(clickhouse, broker, { data_dir, disk, events_gone }, service) : null
  const reread = tables?.reread === true && { reread: true }
  const definitions = [eventWriter({ clickhouse, registry, logger }) as ConsumerDefinition<never>]
  const misfits = createMisfitTroubles({ tables_on_server: !embedded })
  troubles.push(misfits.troubles)
  for (const consumer of definitions) {
    const gated = gatedConsumer(consumer, disk)
    const running = await runConsumer({ broker, consumer: gated, logger, registry, now, misfits, ...reread })
    onClose(consumer.name, () => running.close())
  }
  await tables?.settle()
  startSweep(clickhouse, service)

  const gateway_id = randomBytes(4).toString('hex')
  const instance = randomUUID()
  const groupCommit = createGroupCommit({
    store: audit,
    now,
    linger_ms: limits.audit_group_linger_ms,
    bytes_max: limits.audit_group_bytes_max,
    gateway: gateway_id,
  })
  onClose('audit groups', () => groupCommit.close())

  startQuotaReconciliation({ pool, clickhouse, broker, keyValue }, service)

  const partitions = await broker.partitionCount(topics.eventsAccepted.name)
  const shared = { credentials, keyValue, now, registry, logger }
  const { url } = await serve(
    config,
    service,
    async (app, health) => {
      fenceAdmin(app, {
        networks: config.TRIBUTARY_ADMIN_NETWORKS,
        hosts: config.TRIBUTARY_ADMIN_HOSTS,
        trusted_proxies: config.TRIBUTARY_TRUSTED_PROXIES,
        logger,
      })
      const looked = { consumers: Object.values(consumers), broker, health, now }
      const status = async () => ({ ...(await systemStatus(looked)), instance })
      const in_flight = {
        requests_max: config.TRIBUTARY_REQUESTS_IN_FLIGHT_MAX,
        body_bytes_max: config.TRIBUTARY_BODY_BYTES_IN_FLIGHT_MAX,
      }
      await app.register(
        ingestGateway({ ...shared, audit, groupCommit, broker, partitions, gateway_id, in_flight, disk }),
      )
      await app.register(reportApi({ ...shared, clickhouse, embedded, fxRates: openFxRates({ pool, now }) }))
      await app.register(apiDocs())
      const engines = { pool, broker, clickhouse, keyValue, audit }
      const onFilled = () => {
        misfits.filled()
        tables?.filled()
      }
      await app.register(adminApi({ ...engines, masterKeys, admin_token, status, onFilled, now, logger, registry }))
    },
    ingest_needs,
  )
  for (const line of (await makeDemoCompany({ pool, masterKeys, data_dir, base_url: url, now })) ?? []) say(line)
  writeStart({ url, data_dir, instance }, logger)
  say(`Tributary is ready at ${url}`)
}
