import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Broker } from '@tributary/broker/broker'
import { openKafkaBroker } from '@tributary/broker/kafka'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import { consumers } from '@tributary/contracts/consumers'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import pino from 'pino'
import type { EngineName, OwnEngine, Recipe } from '../engines/engine.ts'
import { openOwnEngine } from '../engines/open-engine.ts'
import { startOwnEngine } from '../engines/own-engine.ts'
import { migratedClickhouse } from '../engines/servers/clickhouse-http.ts'
import { kafkaWith } from '../engines/servers/kafka.ts'
import { type FleetProcess, startFleetProcess, startReaper } from './fleet-process.ts'
import { type FleetTenant, makeTenants } from './tenants.ts'

export interface FleetOptions {
  /** Default: 0. Without gateways and attribution, Redis and S3 are not started. */
  gateways?: number
  writers?: number
  /** Number of processes of attribution. Default: 0. */
  attribution?: number
  /** Runs each consumer of attribution in a process of its own. */
  apart?: boolean
  /** Settings of all its processes. */
  env?: Record<string, string>
  /** Settings of its Kafka. */
  kafka?: Record<string, string>
  /** Number of apps, alternately Android and iOS, of one company without a quota. Default: 1. */
  apps?: number
}

interface StartOptions {
  /** Path of another program from the root of the checkout. */
  program?: string
  env?: Record<string, string>
}

/** Services as processes on private engines: real Kafka, Redis, S3, PostgreSQL and one shared ClickHouse engine. */
export interface Fleet {
  gateways: FleetProcess[]
  writers: FleetProcess[]
  /** Processes of the consumers of attribution, and what else `startService` started. */
  others: FleetProcess[]
  tenants: FleetTenant[]
  /** Encrypts the secrets of its tenants. */
  master_key: string
  /** Clients of the test itself. */
  broker: Broker
  clickhouse: Clickhouse
  engine(name: EngineName): OwnEngine
  /** Starts another process. Resolves once it is ready. */
  startGateway(options?: StartOptions): Promise<FleetProcess>
  startWriter(options?: StartOptions): Promise<FleetProcess>
  /** The same for a service or a part by its name. */
  startService(name: string, options?: StartOptions): Promise<FleetProcess>
  /** Makes a bucket for audit objects, and returns its name for `TRIBUTARY_S3_BUCKET`. */
  makeBucket(): Promise<string>
  /** Number of records in the topic, and of records that event-writer has committed. */
  progress(): Promise<{ records: number; committed: number }>
  /** Resolves when all records are committed; rejects after `ms_max`. */
  untilWritten(ms_max?: number): Promise<void>
  /** Ends all processes and engines and deletes their data. */
  stop(): Promise<void>
}

const coordinated_ms_max = 180_000
/** Processes of several services, each of which may run alone. */
const processes: Record<string, readonly string[]> = {
  attribution: ['install-finder', 'click-writer', 'install-attributor', 'install-writer'],
  housekeeper: ['eraser', 'reconciler', 'replayer', 'retention', 'settler'],
}
const forWriters = ['kafka', 'clickhouse', 'postgres'] as const
const forGateways = ['redis', 's3'] as const

/** Starts engines, makes topics, schemas and tenants, then starts the services. All processes end with this one. */
export async function openFleet({
  gateways = 0,
  writers = 0,
  attribution = 0,
  apart = false,
  apps = 1,
  env: given = {},
  kafka = {},
}: FleetOptions): Promise<Fleet> {
  const closes: (() => Promise<unknown>)[] = []
  const stop = async () => {
    for (const one of closes.splice(0).reverse()) await one()
  }
  const has_tenants = gateways + attribution > 0
  try {
    const engines = await openResources([...forWriters, ...(has_tenants ? forGateways : [])], kafka)
    closes.push(() => Promise.all([...engines.values()].map((engine) => engine.stop())))
    const engine = (name: EngineName) => {
      const found = engines.get(name)
      if (found === undefined) throw new Error(`this fleet has no ${name}`)
      return found
    }
    const broker = await openKafka(engine('kafka').url)
    closes.push(() => broker.close())
    const clickhouse = await openClickhouse(engine('clickhouse').url)
    closes.push(() => clickhouse.close())
    const master_key = randomBytes(32).toString('base64')
    const [tenants] = await Promise.all([
      makeTenants(engine('postgres').url, master_key, has_tenants ? apps : 0),
      broker.applyTopics(Object.values(topics).flatMap((topic) => [topic, deadLetterTopic(topic)])),
      migrateClickhouse({ clickhouse }),
    ])
    await untilCoordinated(broker)
    const dir = await mkdtemp(join(tmpdir(), 'tributary-fleet-'))
    const reaper = startReaper(dir)
    closes.push(() => reaper.close())

    const env = { ...settingsOf(engines, master_key), ...given }
    let started = 0
    const start = async (service: string, into: FleetProcess[], options: StartOptions = {}) => {
      started += 1
      const name = `${started}-${service}`
      const parted = Object.entries(processes).find(([, parts]) => parts.includes(service))
      const program = options.program ?? `services/${parted?.[0] ?? service}/src/main.ts`
      const own: Record<string, string> = parted === undefined ? {} : { TRIBUTARY_PARTS: service }
      const one = await startFleetProcess({ name, program, env: { ...env, ...own, ...options.env }, dir, reaper })
      into.push(one)
      return one
    }
    const fleet: Fleet = {
      ...{ gateways: [], writers: [], others: [], tenants, master_key, broker, clickhouse, engine, stop },
      startGateway: (options) => start('ingest-gateway', fleet.gateways, options),
      startWriter: (options) => start('event-writer', fleet.writers, options),
      startService: (name, options) => start(name, fleet.others, options),
      makeBucket: () => makeBucket(engine('s3').url),
      progress: () => progressOf(broker),
      untilWritten: (ms_max = 180_000) => untilWritten(broker, ms_max),
    }
    await Promise.all([
      ...Array.from({ length: gateways }, () => fleet.startGateway()),
      ...Array.from({ length: writers }, () => fleet.startWriter()),
      ...(apart ? processes.attribution! : ['attribution']).flatMap((name) =>
        Array.from({ length: attribution }, () => fleet.startService(name)),
      ),
    ])
    return fleet
  } catch (error) {
    await stop()
    throw error
  }
}

async function openResources(
  names: readonly EngineName[],
  kafka: Record<string, string>,
): Promise<Map<EngineName, OwnEngine>> {
  const own: Partial<Record<EngineName, Recipe>> = {
    kafka: kafkaWith({ properties: kafka }),
    clickhouse: migratedClickhouse,
  }
  const open = (name: EngineName) => {
    const recipe = own[name]
    return recipe === undefined ? openOwnEngine(name) : startOwnEngine(recipe)
  }
  const opened = await Promise.allSettled(names.map(async (name) => [name, await open(name)] as const))
  const engines = new Map(opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])))
  const failed = opened.find((one) => one.status === 'rejected')
  if (failed === undefined) return engines
  await Promise.all([...engines.values()].map((engine) => engine.stop()))
  throw failed.reason
}

const silent = pino({ level: 'silent' })

const openKafka = (url: string): Promise<Broker> =>
  openKafkaBroker({
    brokers: [url],
    client_id: 'fleet-test',
    linger_ms: 2,
    send_bytes_max: 512 * 1024,
    buffer_bytes_max: 64 * 1024 * 1024,
    logger: silent,
  })

const openClickhouse = (url: string): Promise<Clickhouse> =>
  openClickhouseServer({
    url,
    connect_timeout_ms: 2000,
    query_timeout_ms: 120_000,
    max_open_connections: 4,
    logger: silent,
  })

function settingsOf(engines: Map<EngineName, OwnEngine>, master_key: string): Record<string, string> {
  const url = (name: EngineName) => engines.get(name)?.url ?? ''
  return {
    TRIBUTARY_LOG_LEVEL: 'warn',
    TRIBUTARY_MASTER_KEY: master_key,
    TRIBUTARY_KAFKA_BROKERS: url('kafka'),
    TRIBUTARY_CLICKHOUSE_URL: url('clickhouse'),
    TRIBUTARY_POSTGRES_URL: url('postgres'),
    TRIBUTARY_REDIS_URL: url('redis'),
    TRIBUTARY_S3_ENDPOINT: url('s3'),
    TRIBUTARY_S3_BUCKET: 'tributary',
    TRIBUTARY_S3_ACCESS_KEY_ID: 'test',
    TRIBUTARY_S3_SECRET_ACCESS_KEY: 'test',
  }
}

/** Uses plain HTTP, because the test server checks no signature. */
async function makeBucket(url: string): Promise<string> {
  const bucket = `audit-${randomUUID()}`
  const answer = await fetch(`${url}/${bucket}`, { method: 'PUT', signal: AbortSignal.timeout(20_000) })
  if (!answer.ok) throw new Error(`no bucket: ${answer.status} ${await answer.text()}`)
  return bucket
}

async function progressOf(broker: Broker) {
  const { name, topic } = consumers.eventWriter
  const partitions = await broker.groupOffsets(name, topic.name)
  return {
    records: partitions.reduce((sum, { end }) => sum + end, 0),
    committed: partitions.reduce((sum, { committed, earliest }) => sum + (committed ?? earliest), 0),
  }
}

/** A new Kafka makes its topic of offsets for the first group, which takes seconds on a busy machine. */
async function untilCoordinated(broker: Broker): Promise<void> {
  const { name, topic } = consumers.eventWriter
  for (const deadline = Date.now() + coordinated_ms_max; ; await pause(250)) {
    const failure = await broker.groupOffsets(name, topic.name).then(
      () => null,
      (error: Error) => error,
    )
    if (failure === null) return
    if (Date.now() > deadline) throw failure
  }
}

async function untilWritten(broker: Broker, ms_max: number): Promise<void> {
  for (const deadline = Date.now() + ms_max; ; await pause(100)) {
    const seen = await progressOf(broker).catch(() => null)
    if (seen !== null && seen.records === seen.committed) return
    if (Date.now() > deadline) throw new Error(`not all was written in ${ms_max} ms: ${JSON.stringify(seen)}`)
  }
}
