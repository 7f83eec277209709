import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { declaredProcesses } from '@tributary/testing/declared-services'
import { openFleet } from '@tributary/testing/fleet/fleet'
import type { FleetProcess } from '@tributary/testing/fleet/fleet-process'
import { serviceFlags } from '@tributary/testing/standalone/service-flags'
import { type Bench, numberArgument } from '../bench.ts'
import { residentMegabytes } from './process-cost.ts'

const share_max = 2 / 3
/** Processes of the compose file that run twice. */
const twice = ['ingest-gateway', 'link-gateway', 'postback-gateway', 'event-writer']

/** The fleet as it was, with parts together, and with the compiled code that the image has besides. */
const ways = [
  { way: 'apart', together: false, compiled: false },
  { way: 'together', together: true, compiled: false },
  { way: 'together, compiled', together: true, compiled: true },
]

/** Measures the memory of a fleet at rest, against the same fleet with each part apart and no compiled code. */
export const bench: Bench = {
  name: 'rest',
  title: 'rest: memory of a fleet at rest as the compose file runs it, and with each part apart (--settle 30)',
  async run(args) {
    const cache = await mkdtemp(join(tmpdir(), 'tributary-compiled-'))
    const fleet = await openFleet({ gateways: 1 })
    try {
      const processes = await declaredProcesses()
      for (const { name } of processes) await compile(name, cache)
      const rows = []
      for (const { way, together, compiled } of ways) {
        const code: Record<string, string> = compiled
          ? { NODE_COMPILE_CACHE: cache }
          : { NODE_DISABLE_COMPILE_CACHE: '1' }
        const env = { TRIBUTARY_ADMIN_TOKEN: randomUUID(), ...code }
        const named = processes.flatMap((one) => (together ? [one] : one.parts))
        const names = named.flatMap(({ name }) => (twice.includes(name) ? [name, name] : [name]))
        const started: FleetProcess[] = []
        for (const name of names) started.push(await fleet.startService(name, { env }))
        await pause(numberArgument(args, 'settle', 30) * 1000)
        const each = started.map((one) => ({ rss_mb: residentMegabytes(one.pid()), pss_mb: shareOf(one.pid()) }))
        const sum = (of: 'rss_mb' | 'pss_mb') => each.reduce((all, one) => all + one[of], 0)
        rows.push(...each.map((one, n) => ({ way, process: names[n]!, ...one })))
        rows.push({ way, process: `all ${names.length}`, rss_mb: sum('rss_mb'), pss_mb: sum('pss_mb') })
        for (const one of started) await one.stop()
      }
      const [before, , after] = rows.filter((row) => row.process.startsWith('all '))
      const share = Math.round((after!.pss_mb / before!.pss_mb) * 100) / 100
      return {
        rows,
        aims: [{ what: 'memory, of that before', aim: '<= 2/3', measured: share, met: share <= share_max }],
      }
    } finally {
      await fleet.stop()
      await rm(cache, { recursive: true })
    }
  },
}

/** The image does the same: a program without settings loads all of its code and ends. */
async function compile(name: string, folder: string): Promise<void> {
  const main = join(import.meta.dirname, '..', '..', 'services', name, 'src', 'main.ts')
  const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: folder }
  await once(spawn(process.execPath, [...serviceFlags, main], { env, stdio: 'ignore' }), 'exit')
}

/** Memory of a process now, MB: a page that several processes map counts as a share of each. */
function shareOf(pid: number): number {
  const kilobytes = /^Pss:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]
  return Math.round(Number(kilobytes) / 1024)
}
