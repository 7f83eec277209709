import { randomBytes } from 'node:crypto'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Broker } from '@tributary/broker/broker'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { consumers } from '@tributary/contracts/consumers'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import type { EngineName, OwnEngine } from '../engines/engine.ts'
import { makeBucket, openClickhouse, openEngines, openKafka, settingsOf } from './fleet-engines.ts'
import { type FleetProcess, startFleetProcess, startReaper, thisCheckout } from './fleet-process.ts'
import { runTributary } from './run-tributary.ts'
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
  /**
   * Another checkout, whose commands make topics and schemas, and whose services it starts. The fleet then has no tenant: what this
   * checkout would write may not fit. Default: this one.
   */
  checkout?: string
}

interface StartOptions {
  /** The checkout that it is of. Default: that of the fleet. */
  checkout?: string
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
  /** Settings of all its processes, with which commands reach its engines. */
  settings: Readonly<Record<string, string>>
  /** Clients of the test itself. */
  broker: Broker
  clickhouse: Clickhouse
  engine(name: EngineName): OwnEngine
  /** Starts another process. Resolves once it is ready. */
  startGateway(options?: StartOptions): Promise<FleetProcess>
  startWriter(options?: StartOptions): Promise<FleetProcess>
  /** The same for a service or a part by its name. */
  startService(name: string, options?: StartOptions): Promise<FleetProcess>
  /** Runs a command of `tributary` in a checkout on the servers of this fleet; gives what it printed. */
  tributary(args: readonly string[], checkout?: string): Promise<string>
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
  checkout,
}: FleetOptions): Promise<Fleet> {
  const closes: (() => Promise<unknown>)[] = []
  const stop = async () => {
    for (const one of closes.splice(0).reverse()) await one()
  }
  const has_tenants = gateways + attribution > 0
  try {
    const engines = await openEngines(
      [...forWriters, ...(has_tenants ? forGateways : [])],
      kafka,
      checkout !== undefined,
    )
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
    const env = { ...settingsOf(engines, master_key), ...given }
    const tributary = (args: readonly string[], of = checkout ?? thisCheckout) => runTributary(of, args, env)
    const tenants: FleetTenant[] = []
    if (checkout === undefined) {
      const [made] = await Promise.all([
        makeTenants(engine('postgres').url, master_key, has_tenants ? apps : 0),
        broker.applyTopics(Object.values(topics).flatMap((topic) => [topic, deadLetterTopic(topic)])),
        migrateClickhouse({ clickhouse }),
      ])
      tenants.push(...made)
    } else await Promise.all([tributary(['topics', 'apply']), tributary(['migrate'])])
    await untilCoordinated(broker)
    const dir = await mkdtemp(join(tmpdir(), 'tributary-fleet-'))
    const reaper = startReaper(dir)
    closes.push(() => reaper.close())

    let started = 0
    const start = async (service: string, into: FleetProcess[], options: StartOptions = {}) => {
      started += 1
      const name = `${started}-${service}`
      const parted = Object.entries(processes).find(([, parts]) => parts.includes(service))
      const program = options.program ?? `services/${parted?.[0] ?? service}/src/main.ts`
      const own: Record<string, string> = parted === undefined ? {} : { TRIBUTARY_PARTS: service }
      const one = await startFleetProcess({
        ...{ name, program, dir, reaper, checkout: options.checkout ?? checkout ?? thisCheckout },
        env: { ...env, ...own, ...options.env },
      })
      into.push(one)
      return one
    }
    const fleet: Fleet = {
      ...{ gateways: [], writers: [], others: [], tenants, master_key, broker, clickhouse, engine, tributary, stop },
      settings: env,
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
