import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildTenant } from '@tributary/testkit/builders'
import { type Bench, numberArgument, percentile } from './bench.ts'
import { buildRequests } from './door/bodies.ts'
import { measureFloor } from './door/floor.ts'
import type { GatewayReport } from './door/gateway.ts'
import { sendLoad } from './door/load.ts'

const connections = 32

/** The gateway in a process of its own on embedded log and audit folder; every acknowledged event is looked for in the log. */
export const bench: Bench = {
  name: 'door',
  title:
    'door: signed gzip batches of 50 events, acknowledged durable, CPU per event (--seconds 10 --apps 1 --cpu-prof FOLDER)',
  async run(args) {
    const seconds = numberArgument(args, 'seconds', 10)
    const tenants = Array.from({ length: numberArgument(args, 'apps', 1) }, () => buildTenant())
    const requests = buildRequests(tenants, 400)
    const floor = Math.round(measureFloor(requests, Math.min(4, seconds)))
    const data_dir = mkdtempSync(join(tmpdir(), 'tributary-bench-door-'))
    const gateway = fork(join(import.meta.dirname, 'door', 'gateway.ts'), [], { execArgv: profileFlags(args) })
    const said = async () => ((await once(gateway, 'message')) as [GatewayReport])[0]
    try {
      gateway.send({ data_dir, tenants })
      const { port = 0 } = await said()
      const warm = await sendLoad(port, requests, connections, Math.min(3, seconds))
      gateway.send('start')
      const load = await sendLoad(port, requests, connections, seconds)
      const costs = said()
      gateway.send('stop')
      const { cpu_seconds = 0, rss_mb = 0 } = await costs
      const { logged = 0 } = await said()
      const acknowledged = warm.acknowledged + load.acknowledged
      const door = Math.round(load.acknowledged / cpu_seconds)
      const share = Math.round((door / floor) * 1000) / 1000
      return {
        rows: [
          {
            events_per_cpu_second: door,
            floor_events_per_cpu_second: floor,
            cpu_us_per_event: Math.round(1e7 / door) / 10,
            events_per_second: Math.round(load.acknowledged / load.seconds),
            ack_p50_ms: Math.round(percentile(load.ack_ms, 0.5)),
            ack_p99_ms: Math.round(percentile(load.ack_ms, 0.99)),
            rss_mb,
            acknowledged,
            logged,
          },
        ],
        aims: [
          { what: 'share of the floor', aim: '>= 0.35', measured: share, met: share >= 0.35 },
          { what: 'events per CPU second', aim: '>= 30000', measured: door, met: door >= 30_000 },
          { what: 'logged - acknowledged', aim: '0', measured: logged - acknowledged, met: logged === acknowledged },
        ],
      }
    } finally {
      gateway.disconnect()
      if (gateway.exitCode === null) await once(gateway, 'exit')
      rmSync(data_dir, { recursive: true, force: true })
    }
  },
}

const profileFlags = (args: readonly string[]): string[] => {
  const folder = args[args.indexOf('--cpu-prof') + 1]
  return args.includes('--cpu-prof') && folder ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : []
}
