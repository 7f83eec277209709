import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { openFleet } from '@tributary/testing/fleet/fleet'
import type { FleetProcess } from '@tributary/testing/fleet/fleet-process'
import { type Bench, numberArgument } from './bench.ts'
import { cpuSeconds, residentMegabytes } from './process/process-cost.ts'

const core_percent_max = 3
const rss_mb_max = 150

/** Measures the cost of idle services on real engines, without a request. */
export const bench: Bench = {
  name: 'idle',
  title: 'idle: each service at rest on real engines, CPU and memory (--seconds 30 --settle 10)',
  async run(args) {
    const seconds = numberArgument(args, 'seconds', 30)
    const fleet = await openFleet({ gateways: 1, writers: 1 })
    try {
      const env = { TRIBUTARY_ADMIN_TOKEN: randomUUID() }
      const api = (name: string) => fleet.startGateway({ program: `services/${name}/src/main.ts`, env })
      const [admin, report] = [await api('admin-api'), await api('report-api')]
      await pause(numberArgument(args, 'settle', 10) * 1000)
      const services: [string, FleetProcess][] = [
        ['ingest-gateway', fleet.gateways[0]!],
        ['event-writer', fleet.writers[0]!],
        ['admin-api', admin],
        ['report-api', report],
      ]
      const rows = await Promise.all(services.map(([service, one]) => watch(service, one.pid(), seconds)))
      const most = (column: 'core_percent' | 'rss_mb') => Math.max(...rows.map((row) => row[column]))
      const [core, rss] = [most('core_percent'), most('rss_mb')]
      return {
        rows,
        aims: [
          {
            what: 'percent of a core, the most of a service',
            aim: `< ${core_percent_max}`,
            measured: core,
            met: core < core_percent_max,
          },
          { what: 'RSS, the most of a service, MB', aim: `< ${rss_mb_max}`, measured: rss, met: rss < rss_mb_max },
        ],
      }
    } finally {
      await fleet.stop()
    }
  },
}

async function watch(service: string, pid: number, seconds: number) {
  const before = cpuSeconds(pid)
  let rss_mb = 0
  for (let second = 0; second < seconds; second += 1) {
    rss_mb = Math.max(rss_mb, residentMegabytes(pid))
    await pause(1000)
  }
  const core_percent = Math.round(((cpuSeconds(pid) - before) / seconds) * 10_000) / 100
  return { service, core_percent, rss_mb }
}
