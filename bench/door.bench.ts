import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildTenant } from '@tributary/testing/builders'
import type { EngineName, RunningEngine } from '@tributary/testing/engines/engine'
import { openEngine } from '@tributary/testing/engines/open-engine'
import { makeTenants } from '@tributary/testing/fleet/tenants'
import { type Aim, type Bench, numberArgument, percentile, profileFlags } from './bench.ts'
import { buildRequests, type DoorApp } from './door/bodies.ts'
import { startCollectorThread } from './door/collector-thread.ts'
import { measureFloor } from './door/floor.ts'
import type { GatewayOrder } from './door/gateway.ts'
import { startGateway } from './door/gateway-process.ts'
import { sendLoad, sendPacedLoad } from './door/load.ts'

const connections_default = 32
/** The paced load offers this share of the top rate unless `--rate` is given. */
const paced_share = 0.5

/** The gateway in a process of its own; every acknowledged event is looked for in the log. */
export const bench: Bench = {
  name: 'door',
  title:
    'door: signed gzip batches of 50 events, acknowledged durable, CPU per event (--fleet | --kafka --s3; --connections 32 --rate N --apps 1 --seconds 10 --traces 0.01 --cpu-prof FOLDER; --allocations counts bytes allocated for each event)',
  async run(args) {
    const data_dir = mkdtempSync(join(tmpdir(), 'tributary-bench-door-'))
    const engines = await openEngines(args)
    const collector = args.includes('--traces') ? await startCollectorThread() : null
    try {
      const { apps, ...keys } = await makeApps(numberArgument(args, 'apps', 1), engines.urls.postgres)
      const order = { data_dir, engines: engines.urls, ...keys, ...tracedBy(args, collector?.url) }
      return await measure(args, apps, { ...order, allocations: args.includes('--allocations') })
    } finally {
      await engines.stop()
      await collector?.close()
      rmSync(data_dir, { recursive: true, force: true })
    }
  },
}

const tracedBy = (args: readonly string[], url: string | undefined): Pick<GatewayOrder, 'traced'> =>
  url === undefined
    ? {}
    : {
        traced: {
          OTEL_EXPORTER_OTLP_ENDPOINT: url,
          OTEL_TRACES_SAMPLER_ARG: String(numberArgument(args, 'traces', 0.01)),
        },
      }

/** `--fleet` is all that a gateway works with in production. */
const enginesOf = (args: readonly string[]): EngineName[] =>
  args.includes('--fleet')
    ? ['kafka', 's3', 'redis', 'postgres']
    : (['kafka', 's3'] as const).filter((name) => args.includes(`--${name}`))

async function openEngines(args: readonly string[]) {
  const opened = new Map<EngineName, RunningEngine>()
  const stop = async () => void (await Promise.all([...opened.values()].map((engine) => engine.stop())))
  try {
    for (const name of enginesOf(args)) opened.set(name, await openEngine(name))
  } catch (error) {
    await stop()
    throw error
  }
  const urls: Partial<Record<EngineName, string>> = Object.fromEntries(
    [...opened].map(([name, { url }]) => [name, url]),
  )
  return { urls, stop }
}

/** Apps in PostgreSQL when there is one. */
async function makeApps(
  count: number,
  postgres: string | undefined,
): Promise<{ apps: DoorApp[] } & Pick<GatewayOrder, 'tenants' | 'master_key'>> {
  if (postgres !== undefined) {
    const master_key = randomBytes(32).toString('base64')
    return { apps: await makeTenants(postgres, master_key, count), master_key }
  }
  const tenants = Array.from({ length: count }, () => buildTenant())
  return { apps: tenants.map(({ company_key, app_key, app }) => ({ ...app, company_key, app_key })), tenants }
}

async function measure(args: string[], apps: readonly DoorApp[], order: GatewayOrder) {
  const seconds = numberArgument(args, 'seconds', 10)
  const connections = numberArgument(args, 'connections', connections_default)
  const requests = buildRequests(apps, 400)
  const gateway = await startGateway(order, profileFlags(args))
  const { port } = gateway
  const warm = await sendLoad(port, requests, connections, Math.min(5, seconds))
  const floor = Math.round(measureFloor(requests, Math.min(4, seconds)))
  gateway.startWatch()
  const load = await sendLoad(port, requests, connections, seconds)
  const { cpu_seconds, rss_mb, steps: memory } = await gateway.stopWatch()
  const rate = numberArgument(args, 'rate', (load.acknowledged / load.seconds) * paced_share)
  // Connections are bounded where a rate is given; half of the top rate shall wait for none.
  const paced = await sendPacedLoad(port, requests, rate, seconds, args.includes('--rate') ? connections : undefined)
  const { logged, steps } = await gateway.countLogged()
  const { allocated_bytes, ...engine_steps } = steps
  await gateway.stop()
  const door = load.acknowledged / cpu_seconds
  const figures = {
    ...(allocated_bytes && { allocated_bytes_per_event: Math.round(allocated_bytes / paced.acknowledged) }),
    events_per_cpu_second: Math.round(door),
    floor_events_per_cpu_second: floor,
    cpu_us_per_event: Math.round(1e8 / door) / 100,
    events_per_second: Math.round(load.acknowledged / load.seconds),
    ack_p50_ms: Math.round(percentile(load.ack_ms, 0.5)),
    ack_p99_ms: Math.round(percentile(load.ack_ms, 0.99)),
    paced_events_per_second: Math.round(paced.acknowledged / paced.seconds),
    paced_p50_ms: Math.round(percentile(paced.ack_ms, 0.5)),
    paced_p99_ms: Math.round(percentile(paced.ack_ms, 0.99)),
    ...engine_steps,
    rss_mb,
    ...memory,
    acknowledged: warm.acknowledged + load.acknowledged + paced.acknowledged,
    logged,
  }
  return { rows: [figures], aims: aimsOf(args, figures) }
}

type Figures = Record<
  'events_per_cpu_second' | 'floor_events_per_cpu_second' | 'cpu_us_per_event' | 'paced_p99_ms' | 'rss_mb',
  number
> & { acknowledged: number; logged: number }

function aimsOf(args: readonly string[], figures: Figures): Aim[] {
  const { events_per_cpu_second, floor_events_per_cpu_second, cpu_us_per_event, paced_p99_ms, rss_mb } = figures
  const atMost = (what: string, most: number, measured: number): Aim => ({
    ...{ what, aim: `<= ${most}`, measured, met: measured <= most },
  })
  const share = Math.round((events_per_cpu_second / floor_events_per_cpu_second) * 1000) / 1000
  const share_aim = args.includes('--kafka') ? 0.6 : 0.65
  const missing = figures.logged - figures.acknowledged
  const lost: Aim = { what: 'logged - acknowledged', aim: '0', measured: missing, met: missing === 0 }
  if (args.includes('--fleet')) {
    const few = numberArgument(args, 'connections', connections_default) < connections_default
    return [
      atMost('CPU of an event, us', few ? 12 : 8, cpu_us_per_event),
      atMost('peak RSS, MB', 150, rss_mb),
      atMost('p99 of the paced load, ms', 40, paced_p99_ms),
      lost,
    ]
  }
  return [
    { what: 'share of the floor', aim: `>= ${share_aim}`, measured: share, met: share >= share_aim },
    atMost('peak RSS, MB', 250, rss_mb),
    atMost('p99 at half of the top rate, ms', 100, paced_p99_ms),
    lost,
  ]
}
