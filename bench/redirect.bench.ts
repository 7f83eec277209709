import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEngine } from '@tributary/testing/engines/open-engine'
import { Pool } from 'undici'
import { type Aim, type Bench, numberArgument, percentile, profileFlags } from './bench.ts'
import { startProcess } from './process/drive-process.ts'
import { type LoopTimes, openLoop } from './process/open-loop.ts'
import type { RedirectOrder } from './redirect/gateway.ts'

/** Fewer than a gateway may have in flight; an open loop needs more only when the gateway stands still. */
const connections = 100
/** Warm-up at half of the rate: the bench measures a gateway at work, and not its first requests. */
const warm_seconds = 5
const link_id = 'bench-link-0'

/** Clicks at a fixed rate, whatever the answers do, against the same load on bare redirects of fastify. */
export const bench: Bench = {
  name: 'redirect',
  title:
    'redirect: clicks of many networks in an open loop, each on the log before its redirect (--kafka with Redis; --rate 2000 --seconds 30 --cpu-prof FOLDER)',
  async run(args) {
    const data_dir = mkdtempSync(join(tmpdir(), 'tributary-bench-redirect-'))
    const names = args.includes('--kafka') ? (['kafka', 'redis'] as const) : []
    const engines = await Promise.all(names.map(async (name) => ({ name, ...(await openEngine(name)) })))
    try {
      const urls = Object.fromEntries(engines.map(({ name, url }) => [name, url]))
      const bare = await measure(args, { data_dir, link_id, server: 'bare' })
      const synced = await measure(args, { data_dir, link_id, server: 'synced' })
      const gateway = await measure(args, { data_dir, link_id, server: 'gateway', ...urls })
      return { rows: [bare, synced, gateway], aims: aimsOf(args, bare, gateway) }
    } finally {
      await Promise.all(engines.map((engine) => engine.stop()))
      rmSync(data_dir, { recursive: true, force: true })
    }
  },
}

const bareNames = { bare: 'bare fastify', synced: 'bare, on the disk' }

async function measure(args: string[], order: RedirectOrder) {
  const rate = numberArgument(args, 'rate', 2000)
  const seconds = numberArgument(args, 'seconds', 30)
  const server = await startProcess(join(import.meta.dirname, 'redirect', 'gateway.ts'), order, profileFlags(args))
  const warm = await sendClicks(server.port, rate / 2, Math.min(warm_seconds, seconds))
  server.startWatch()
  const load = await sendClicks(server.port, rate, seconds)
  const { cpu_seconds, rss_mb, steps } = await server.stopWatch()
  const { logged } = await server.countLogged()
  await server.stop()
  return {
    server: order.server === 'gateway' ? (order.kafka === undefined ? 'embedded' : 'kafka') : bareNames[order.server],
    redirects_per_second: Math.round(load.ms.length / load.seconds),
    p50_ms: Math.round(percentile(load.ms, 0.5) * 10) / 10,
    p99_ms: Math.round(percentile(load.ms, 0.99) * 10) / 10,
    cpu_us_per_redirect: Math.round((cpu_seconds * 1e6) / load.ms.length),
    rss_mb,
    /** Memory without what the system may take back: pages of the log and of the program. */
    own_mb: steps.own_mb ?? 0,
    redirected: warm.ms.length + load.ms.length,
    logged,
  }
}

type Figures = Awaited<ReturnType<typeof measure>>

function aimsOf(args: readonly string[], bare: Figures, gateway: Figures): Aim[] {
  const atMost = (what: string, most: number, measured: number): Aim => ({
    ...{ what, aim: `<= ${most}`, measured, met: measured <= most },
  })
  const times = Math.round((gateway.cpu_us_per_redirect / bare.cpu_us_per_redirect) * 100) / 100
  const lost = gateway.redirected - gateway.logged
  return [
    atMost('p99, ms', args.includes('--kafka') ? 40 : 10, gateway.p99_ms),
    atMost('CPU of a redirect, in bare ones', 2, times),
    atMost('peak RSS, MB', 150, gateway.rss_mb),
    { what: 'redirected - logged', aim: '0', measured: lost, met: lost === 0 },
  ]
}

const phone =
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36'

/** Clicks come from 60,000 networks, so none is limited. */
async function sendClicks(port: number, rate: number, seconds: number): Promise<LoopTimes> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1 })
  const times = await openLoop({ rate, seconds }, async (n) => {
    const path = `/l/${link_id}?click_id=${n}-5f0c1d9e7a41&sub1=placement&sub2=${n % 50}`
    const ip = `84.${n % 250}.${Math.floor(n / 250) % 250}.7`
    const headers = { 'user-agent': phone, 'x-forwarded-for': ip }
    const answer = await pool.request({ method: 'GET', path, headers })
    await answer.body.dump()
    if (answer.statusCode !== 302) throw new Error(`answered ${answer.statusCode}`)
  })
  await pool.close()
  return times
}
