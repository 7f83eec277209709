import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { declaredProcesses } from '@tributary/testing/declared-services'
import { openFleet } from '@tributary/testing/fleet/fleet'
import { type Bench, numberArgument } from '../bench.ts'
import { residentMegabytes } from './process-cost.ts'

const share_max = 2 / 3
/** Processes of the compose file that run twice. */
const twice = ['ingest-gateway', 'link-gateway', 'postback-gateway', 'event-writer']

/** Measures the memory of a fleet at rest with parts together, against the same fleet with each part apart. */
export const bench: Bench = {
  name: 'rest',
  title: 'rest: memory of a fleet at rest as the compose file runs it, parts together and apart (--settle 30)',
  async run(args) {
    const fleet = await openFleet({ gateways: 1 })
    try {
      const processes = await declaredProcesses()
      // The image has no cache of compiled code.
      const env = { TRIBUTARY_ADMIN_TOKEN: randomUUID(), NODE_DISABLE_COMPILE_CACHE: '1' }
      const rows = []
      for (const parts of ['apart', 'together'] as const) {
        const named = processes.flatMap((one) => (parts === 'apart' ? one.parts : [one]))
        const names = named.flatMap(({ name }) => (twice.includes(name) ? [name, name] : [name]))
        const started = []
        for (const name of names) started.push(await fleet.startService(name, { env }))
        await pause(numberArgument(args, 'settle', 30) * 1000)
        const each = started.map((one) => ({ rss: residentMegabytes(one.pid()), pss: shareOf(one.pid()) }))
        const sum = (of: 'rss' | 'pss') => Math.round(each.reduce((all, one) => all + one[of], 0))
        for (const [n, one] of each.entries())
          rows.push({ parts, process: names[n]!, rss_mb: one.rss, pss_mb: one.pss })
        rows.push({ parts, process: `all ${names.length}`, rss_mb: sum('rss'), pss_mb: sum('pss') })
        for (const one of started) await one.stop()
      }
      const [apart, together] = rows.filter((row) => row.process.startsWith('all '))
      const share = Math.round((together!.pss_mb / apart!.pss_mb) * 100) / 100
      return {
        rows,
        aims: [{ what: 'memory together, of that apart', aim: '<= 2/3', measured: share, met: share <= share_max }],
      }
    } finally {
      await fleet.stop()
    }
  },
}

/** Memory of a process now, MB: a page that several processes map counts as a share of each. */
function shareOf(pid: number): number {
  const kilobytes = /^Pss:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]
  return Math.round(Number(kilobytes) / 1024)
}
