import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limits } from '@tributary/contracts/limits'
import { buildTenant, type Tenant } from '@tributary/testing/builders'
import { type Aim, type Bench, type BenchRow, numberArgument, percentile, profileFlags } from './bench.ts'
import { buildEvent, type DoorRequest } from './door/bodies.ts'
import { startGateway } from './door/gateway-process.ts'
import { sendLoad } from './door/load.ts'

/** Enough keys that none reaches its rate limit of 1000 requests a minute. */
const keys = 400

/** Measures backend events at the gateway: bulk requests of 1000 events, and single events with one audit object each. */
export const bench: Bench = {
  name: 's2s',
  title: 's2s: backend events, bulk of 1000 and single, CPU of the gateway (--seconds 10 --cpu-prof FOLDER)',
  async run(args) {
    const seconds = numberArgument(args, 'seconds', 10)
    const tenants = Array.from({ length: keys }, () => buildTenant())
    const flags = profileFlags(args)
    // Removed only at the end: ext4 skips recently freed inodes, which made each new file cost a millisecond.
    const folder = mkdtempSync(join(tmpdir(), 'tributary-bench-s2s-'))
    const measured = (name: string, requests: DoorRequest[], connections: number) =>
      measure({ data_dir: join(folder, name), tenants, requests, connections, seconds, flags })
    try {
      return compare(
        await measured('bulk', bulkRequests(tenants.slice(0, 40)), 8),
        await measured('single', singleRequests(tenants), 64),
      )
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

function compare(bulk: Measured, single: Measured): { rows: BenchRow[]; aims: Aim[] } {
  const bulk_rate = Math.round(bulk.events / bulk.cpu_seconds)
  const single_us = Math.round((single.cpu_seconds * 1e6) / single.events)
  const rows: BenchRow[] = [
    { what: 'bulk of 1000', ...figures(bulk) },
    { what: 'single', ...figures(single) },
  ]
  const missing = bulk.missing + single.missing
  const aims: Aim[] = [
    { what: 'bulk, events per CPU second', aim: '>= 60000', measured: bulk_rate, met: bulk_rate >= 60_000 },
    { what: 'single, CPU us per request', aim: '<= 200', measured: single_us, met: single_us <= 200 },
    { what: 'acknowledged - logged', aim: '0', measured: missing, met: missing === 0 },
  ]
  return { rows, aims }
}

interface Measurement {
  data_dir: string
  tenants: Tenant[]
  requests: DoorRequest[]
  connections: number
  seconds: number
  /** Flags of the gateway's node process. */
  flags: string[]
}
type Measured = Awaited<ReturnType<typeof measure>>

async function measure({ data_dir, tenants, requests, connections, seconds, flags }: Measurement) {
  const gateway = await startGateway({ data_dir, tenants }, flags)
  const warm = await sendLoad(gateway.port, requests, connections, 3)
  gateway.startWatch()
  const load = await sendLoad(gateway.port, requests, connections, seconds)
  const { cpu_seconds, rss_mb } = await gateway.stopWatch()
  const missing = warm.acknowledged + load.acknowledged - (await gateway.countLogged()).logged
  await gateway.stop()
  return { events: load.acknowledged, seconds: load.seconds, ack_ms: load.ack_ms, cpu_seconds, rss_mb, missing }
}

const figures = ({ events, seconds, ack_ms, cpu_seconds, rss_mb }: Measured) => ({
  events_per_second: Math.round(events / seconds),
  cpu_us_per_event: Math.round((cpu_seconds * 1e8) / events) / 100,
  cpu_us_per_request: Math.round((cpu_seconds * 1e6) / ack_ms.length),
  ack_p50_ms: Math.round(percentile(ack_ms, 0.5)),
  ack_p99_ms: Math.round(percentile(ack_ms, 0.99)),
  rss_mb,
})

function bulkRequests(tenants: readonly Tenant[]): DoorRequest[] {
  return tenants.map((tenant, n) => {
    const events = Array.from({ length: limits.bulk_events_max }, (_, i) => buildEvent(randomUUID(), n, i))
    return toRequest(tenant, '/s2s/events/bulk', { events }, limits.bulk_events_max)
  })
}

/** Requests without `event_id`, so that each is a new event with its own audit object. */
const singleRequests = (tenants: readonly Tenant[]): DoorRequest[] =>
  tenants.map((tenant, n) => {
    const { event_id: _, ...event } = buildEvent(randomUUID(), n, n)
    return toRequest(tenant, '/s2s/event', event, 1)
  })

const toRequest = (tenant: Tenant, path: string, body: unknown, events: number): DoorRequest => ({
  ...{ path, events },
  app: { company_key: tenant.company_key, app_key: tenant.app_key, signing_secret: tenant.app.signing_secret },
  headers: { authorization: `Bearer ${tenant.server_key}`, 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify(body)),
})
