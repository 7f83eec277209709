import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { service as adminApi } from '@tributary/admin-api/service'
import { service as clickWriter } from '@tributary/click-writer/service'
import { service as eraser } from '@tributary/eraser/service'
import { service as eventWriter } from '@tributary/event-writer/service'
import { service as ingestGateway } from '@tributary/ingest-gateway/service'
import { service as installAttributor } from '@tributary/install-attributor/service'
import { service as installFinder } from '@tributary/install-finder/service'
import { service as installWriter } from '@tributary/install-writer/service'
import { service as linkGateway } from '@tributary/link-gateway/service'
import { startPanelBuild } from '@tributary/panel/start-build'
import { service as postbackForwarder } from '@tributary/postback-forwarder/service'
import { service as postbackGateway } from '@tributary/postback-gateway/service'
import { service as postbackWriter } from '@tributary/postback-writer/service'
import { service as receiptValidator } from '@tributary/receipt-validator/service'
import { service as reconciler } from '@tributary/reconciler/service'
import { service as replayer } from '@tributary/replayer/service'
import { service as reportApi } from '@tributary/report-api/service'
import { service as retention } from '@tributary/retention/service'
import { startConsumers } from '@tributary/service-kit/consumer/start-consumers'
import { lockDataDir } from '@tributary/service-kit/data-dir/data-dir-lock'
import { fenceAdmin } from '@tributary/service-kit/http/admin-fence'
import { requireAddress, serve } from '@tributary/service-kit/http/serve'
import { type Opened, openResources } from '@tributary/service-kit/resources/resource'
import { neededBindings, settingsOf } from '@tributary/service-kit/service/define-service'
import type { DiskWatch } from '@tributary/service-kit/service/disk-watch'
import { startJobs } from '@tributary/service-kit/service/every'
import type { Service, ServiceOptions } from '@tributary/service-kit/service/run-service'
import type { ServiceParts } from '@tributary/service-kit/service/service-parts'
import { createMisfitTroubles } from '@tributary/service-kit/service/troubles/misfit-troubles'
import { readSettings, type Settings } from '@tributary/service-kit/settings/read-settings'
import type { SettingName } from '@tributary/service-kit/settings/settings'
import { service as settler } from '@tributary/settler/service'
import { startRawEpoch } from '@tributary/tables/raw/stamps'
import { closeFolder } from './close-folder.ts'
import { makeDemoCompany } from './demo.ts'
import { standaloneEngines } from './engines.ts'
import { offerFirstLink } from './first-person.ts'
import { openAdminToken } from './local-secrets.ts'
import { watchDisk } from './watch-disk.ts'
import { areEventsGone } from './whole/events-gone.ts'
import { openReplayNeeded } from './whole/open-replay-needed.ts'
import { keepTablesWhole } from './whole/whole-tables.ts'
import { writeStart } from './write-start.ts'

/** What runs in the one process: every service there is. */
export const services = [
  eventWriter,
  installFinder,
  clickWriter,
  installAttributor,
  installWriter,
  postbackForwarder,
  receiptValidator,
  postbackWriter,
  eraser,
  reconciler,
  replayer,
  retention,
  settler,
  ingestGateway,
  linkGateway,
  postbackGateway,
  reportApi,
  adminApi,
]

const settings: SettingName[] = [
  ...services.flatMap((one) => settingsOf(one).settings),
  'TRIBUTARY_DATA_DIR',
  'TRIBUTARY_DISK_FREE_MIN_BYTES',
  'TRIBUTARY_ADMIN_NETWORKS',
  'TRIBUTARY_ADMIN_HOSTS',
]
type Config = Settings<SettingName>

/** `npm start`: everything in one process on one port, on embedded engines where no setting names a server. */
export const service: ServiceOptions<Config> = {
  name: 'standalone',
  readConfig: (env) => readSettings(env, settings),
  start,
}

async function start(config: Config, service: Service): Promise<void> {
  const { now, onClose, logger } = service
  const data_dir = resolve(config.TRIBUTARY_DATA_DIR)
  // A folder is in use by itself, and says so: its lock comes first. A new one is not made in vain.
  if (!existsSync(data_dir)) await requireAddress(config)
  const lock = lockDataDir(data_dir)
  onClose('data folder lock', async () => lock.release())
  // The folder is closed before anything is written, so no secret is ever in one that others may read.
  for (const closed of closeFolder(data_dir)) logger.warn(closed, 'other users could open this: its mode was tightened')
  const admin_token = config.TRIBUTARY_ADMIN_TOKEN ?? openAdminToken(data_dir)
  const disk = await watchDisk(config, data_dir, service)
  const engines = await openResources(standaloneEngines(data_dir, disk), config, service)
  const { url, instance } = await startServices({ config, data_dir, admin_token, disk, engines }, service)
  const { postgres: pool, masterKeys } = engines
  for (const line of (await makeDemoCompany({ pool, masterKeys, data_dir, base_url: url, now })) ?? []) say(line)
  const onTerminal = process.stdout.isTTY === true
  const admin_url = config.TRIBUTARY_ADMIN_URL ?? url
  for (const line of await offerFirstLink({ pool, data_dir, admin_url, now, onTerminal })) say(line)
  writeStart({ url, data_dir, instance }, logger)
  say(`Tributary is ready at ${url}`)
  say(`The panel is at ${url}/admin/`)
  const stopBuild = startPanelBuild(logger)
  onClose('panel build', async () => stopBuild())
}

const hostsOf = (url: string | undefined): string[] => (url === undefined ? [] : [new URL(url).hostname])

/** Writes a line for the person at the terminal. */
const say = (line: string) => void process.stdout.write(`${line}\n`)

interface Standalone {
  config: Config
  data_dir: string
  admin_token: string
  disk: DiskWatch
  engines: Opened<ReturnType<typeof standaloneEngines>>
}

/** Starts the parts of all services; resolves once they take traffic. Nobody writes before the tables are looked at. */
async function startServices({ config, data_dir, admin_token, disk, engines }: Standalone, service: Service) {
  const { clickhouse, broker, audit, postgres: pool } = engines
  const embedded = config.TRIBUTARY_CLICKHOUSE_URL === undefined
  const events_gone = embedded && (await areEventsGone({ clickhouse, broker, audit, pool }))
  const needed = openReplayNeeded(data_dir, service)
  const tables = embedded
    ? await keepTablesWhole(
        clickhouse,
        broker,
        { data_dir, disk, needed, events_gone, startEpoch: () => startRawEpoch(pool) },
        service,
      )
    : null
  const misfits = createMisfitTroubles(needed, { tables_on_server: !embedded })
  service.troubles.push(misfits.troubles, needed.troubles)
  const instance = randomUUID()
  const context = {
    ...{ ...engines, ...service, disk, embedded, instance },
    config: { ...config, TRIBUTARY_ADMIN_TOKEN: admin_token },
    beginReplay: needed.beginReplay,
  }
  const parts: readonly ServiceParts<typeof context>[] = services
  const consumers = parts.flatMap((one) => one.consumers ?? []).flatMap((build) => build(context) ?? [])
  await startConsumers(consumers, context, { misfits, reread: tables?.reread === true })
  await tables?.settle()
  for (const { jobs = [] } of parts) startJobs(jobs, context)
  const { url } = await serve(
    config,
    service,
    async (app, health) => {
      fenceAdmin(app, {
        networks: config.TRIBUTARY_ADMIN_NETWORKS,
        hosts: [...config.TRIBUTARY_ADMIN_HOSTS, ...hostsOf(config.TRIBUTARY_ADMIN_URL)],
        trusted_proxies: config.TRIBUTARY_TRUSTED_PROXIES,
        logger: service.logger,
      })
      for (const { routes } of parts) if (routes) await app.register(await routes({ ...context, health }))
    },
    neededBindings(ingestGateway),
  )
  return { url, instance }
}
