import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildTenant } from '@tributary/testkit/builders'
import { openEngine } from '../infra/engines/open-engine.ts'
import { type Aim, type Bench, numberArgument, percentile, profileFlags } from './bench.ts'
import { buildRequests } from './door/bodies.ts'
import { measureFloor } from './door/floor.ts'
import { startGateway } from './door/gateway-process.ts'
import { sendLoad, sendPacedLoad } from './door/load.ts'

const connections = 32

/** The gateway in a process of its own; every acknowledged event is looked for in the log. */
export const bench: Bench = {
  name: 'door',
  title:
    'door: signed gzip batches of 50 events, acknowledged durable, CPU per event (--kafka --s3 --seconds 10 --apps 1 --cpu-prof FOLDER)',
  async run(args) {
    const seconds = numberArgument(args, 'seconds', 10)
    const onKafka = args.includes('--kafka')
    const tenants = Array.from({ length: numberArgument(args, 'apps', 1) }, () => buildTenant())
    const apps = tenants.map(({ company_key, app_key, app }) => ({ ...app, company_key, app_key }))
    const requests = buildRequests(apps, 400)
    const data_dir = mkdtempSync(join(tmpdir(), 'tributary-bench-door-'))
    const kafka = onKafka ? await openEngine('kafka') : null
    const s3 = args.includes('--s3') ? await openEngine('s3') : null
    try {
      const gateway = await startGateway({ data_dir, tenants, kafka: kafka?.url, s3: s3?.url }, profileFlags(args))
      const { port } = gateway
      const warm = await sendLoad(port, requests, connections, Math.min(5, seconds))
      const floor = Math.round(measureFloor(requests, Math.min(4, seconds)))
      gateway.startWatch()
      const load = await sendLoad(port, requests, connections, seconds)
      const { cpu_seconds, rss_mb } = await gateway.stopWatch()
      const top_rate = load.acknowledged / load.seconds
      const half = await sendPacedLoad(port, requests, top_rate / 2, seconds)
      const logged = await gateway.countLogged()
      await gateway.stop()
      const acknowledged = warm.acknowledged + load.acknowledged + half.acknowledged
      const door = Math.round(load.acknowledged / cpu_seconds)
      const half_p99_ms = Math.round(percentile(half.ack_ms, 0.99))
      const figures = {
        events_per_cpu_second: door,
        floor_events_per_cpu_second: floor,
        cpu_us_per_event: Math.round(1e8 / door) / 100,
        events_per_second: Math.round(top_rate),
        ack_p50_ms: Math.round(percentile(load.ack_ms, 0.5)),
        ack_p99_ms: Math.round(percentile(load.ack_ms, 0.99)),
        half_events_per_second: Math.round(half.acknowledged / half.seconds),
        half_p50_ms: Math.round(percentile(half.ack_ms, 0.5)),
        half_p99_ms,
        rss_mb,
        acknowledged,
        logged,
      }
      const share = Math.round((door / floor) * 1000) / 1000
      const share_aim = onKafka ? 0.6 : 0.65
      const aims: Aim[] = [
        { what: 'share of the floor', aim: `>= ${share_aim}`, measured: share, met: share >= share_aim },
        { what: 'peak RSS, MB', aim: '<= 250', measured: rss_mb, met: rss_mb <= 250 },
        { what: 'p99 at half of the top rate, ms', aim: '< 100', measured: half_p99_ms, met: half_p99_ms < 100 },
        { what: 'logged - acknowledged', aim: '0', measured: logged - acknowledged, met: logged === acknowledged },
      ]
      return { rows: [figures], aims }
    } finally {
      await Promise.all([kafka?.stop(), s3?.stop()])
      rmSync(data_dir, { recursive: true, force: true })
    }
  },
}
