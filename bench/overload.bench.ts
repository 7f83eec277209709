import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limits } from '@tributary/contracts/limits'
import { buildTenant } from '@tributary/testing/builders'
import { type Aim, type Bench, numberArgument, percentile } from './bench.ts'
import { buildRequests } from './door/bodies.ts'
import { startGateway } from './door/gateway-process.ts'
import { sendLoad } from './door/load.ts'
import { sendOverload } from './overload/load.ts'

/** Enough connections to keep the gateway busy, too few to be refused. */
const connections = 48
/** Seconds over which the speed after the overload is measured. */
const recovery_seconds = 5

/** Overloads the gateway: accepted requests must stay fast and durable, and others must be refused at once. */
export const bench: Bench = {
  name: 'overload',
  title: 'overload: twice the capacity, then the normal load again (--seconds 120 --factor 2 --in-flight N)',
  async run(args) {
    const seconds = numberArgument(args, 'seconds', 120)
    const factor = numberArgument(args, 'factor', 2)
    const requests_max = numberArgument(args, 'in-flight', limits.requests_in_flight_max)
    const tenants = [buildTenant()]
    const apps = tenants.map(({ company_key, app_key, app }) => ({ ...app, company_key, app_key }))
    const requests = buildRequests(apps, 400)
    const data_dir = mkdtempSync(join(tmpdir(), 'tributary-bench-overload-'))
    try {
      const in_flight = { requests_max, body_bytes_max: limits.body_bytes_in_flight_max }
      const gateway = await startGateway({ data_dir, tenants, in_flight }, [])
      const { port } = gateway
      const warm = await sendLoad(port, requests, connections, 5)
      const before = await sendLoad(port, requests, connections, 2 * recovery_seconds)
      const capacity = before.acknowledged / before.seconds
      gateway.startWatch()
      const over = await sendOverload(port, requests, factor * capacity, seconds)
      const after = await sendLoad(port, requests, connections, recovery_seconds)
      const { rss_mb } = await gateway.stopWatch()
      const { logged } = await gateway.countLogged()
      await gateway.stop()
      const acknowledged = [warm, before, over, after].reduce((sum, load) => sum + load.acknowledged, 0)
      const ack_p99_ms = Math.round(percentile(over.ack_ms, 0.99))
      const refusal_p99_ms = Math.round(percentile(over.refusal_ms, 0.99))
      const back = Math.round((after.acknowledged / after.seconds / capacity) * 100) / 100
      const other = Object.values(over.other).reduce((sum, n) => sum + n, 0)
      const figures = {
        requests_max,
        capacity_events_per_second: Math.round(capacity),
        offered_events_per_second: Math.round((over.offered_batches * 50) / over.seconds),
        acknowledged_events_per_second: Math.round(over.acknowledged / over.seconds),
        refused_share: Math.round((over.refused_batches / over.offered_batches) * 100) / 100,
        ack_p50_ms: Math.round(percentile(over.ack_ms, 0.5)),
        ack_p99_ms,
        refusal_p50_ms: Math.round(percentile(over.refusal_ms, 0.5)),
        refusal_p99_ms,
        client_late_p99_ms: Math.round(over.client_late_p99_ms),
        rss_mb,
        other: JSON.stringify(over.other),
      }
      const aims: Aim[] = [
        { what: 'p99 of what is accepted, ms', aim: '< 1000', measured: ack_p99_ms, met: ack_p99_ms < 1000 },
        { what: 'p99 of what is refused, ms', aim: '< 1000', measured: refusal_p99_ms, met: refusal_p99_ms < 1000 },
        { what: 'answers that are neither', aim: '0', measured: other, met: other === 0 },
        { what: 'peak RSS, MB', aim: '<= 400', measured: rss_mb, met: rss_mb <= 400 },
        { what: `speed in the ${recovery_seconds} s after`, aim: '>= 0.9', measured: back, met: back >= 0.9 },
        { what: 'logged - acknowledged', aim: '0', measured: logged - acknowledged, met: logged === acknowledged },
      ]
      return { rows: [figures], aims }
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  },
}
