import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '@tributary/contracts/limits'
import { openPostgres } from '@tributary/postgres/postgres'
import { openFleet } from '@tributary/testing/fleet/fleet'
import type { Pool } from 'pg'
import { type Bench, numberArgument, percentile, textArgument } from '../bench.ts'
import type { ProcessReport } from '../process/driven-process.ts'
import { openLoop } from '../process/open-loop.ts'
import { watchMemoryOf } from '../process/peak-memory.ts'
import { cpuSeconds } from '../process/process-cost.ts'
import type { BareOrder } from './bare-loop.ts'
import { addDue, countDue, makePartners, urlOf } from './due-rows.ts'
import { type HeardByName, slow_answer_ms } from './partner-servers.ts'

const companies = 50
/** Partners of the first and the last part. */
const few = 100
/** Postbacks a second that the living are owed while others are dead or drain. */
const others_per_second = 100
/** What comes later than this after the last of them is missed. */
const late_ms = 3000
/** Half of what the partner that drains can take. */
const pace_min = (limits.partner_tries_at_once_max * 1000) / slow_answer_ms / 2

/** Measures a forwarder on real engines, whose partners answer on addresses of their own. */
export const bench: Bench = {
  name: 'postbacks-out',
  title:
    'postbacks-out: postbacks to partners for each CPU second of the forwarder against a bare loop; beside dead partners; beside one that drains (--deliveries 20000 --partners 10000 --due 100000 --seconds 30 --settle 60)',
  async run(args) {
    const deliveries = numberArgument(args, 'deliveries', 20_000)
    const partners = numberArgument(args, 'partners', 10_000)
    const due = numberArgument(args, 'due', 100_000)
    const seconds = numberArgument(args, 'seconds', 30)
    const folder = textArgument(args, 'cpu-prof')
    const profile: Record<string, string> =
      folder === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder}` }
    const fleet = await openFleet({})
    const servers = await startServers()
    const pool = openPostgres({
      ...{ url: fleet.engine('postgres').url, pool_max: 8 },
      ...{ statement_timeout_ms: 600_000, connect_timeout_ms: 10_000 },
    })
    try {
      const [good = 0, hanging = 0] = servers.ports
      const dead = Math.floor(partners / 10)
      const all = [
        { name: 'few', count: few, port: good },
        { name: 'living', count: partners - dead, port: good },
        { name: 'dead', count: dead, port: hanging },
        { name: 'slow', count: 1, port: good },
      ]
      await makePartners(pool, fleet.master_key, all, companies)
      const forwarder = await fleet.startService('postback-forwarder', {
        env: { TRIBUTARY_POSTBACK_ALLOWED_NETWORKS: '127.0.0.0/8', ...profile },
      })
      const part = { pool, servers, pid: forwarder.pid(), seconds }
      const speed = await measureSpeed(part, good, deliveries)
      await addDue(pool, { name: 'dead', each: 20 })
      await pause(numberArgument(args, 'settle', 60) * 1000) // the first try of each dead one holds a place
      const beside_dead = await measureOthers(part, 'living', all[1]!.count)
      await pool.query(`DELETE FROM due_postbacks WHERE state = 'due'`)
      const alone = await measureOthers(part, 'few', few)
      await addDue(pool, { name: 'slow', each: due })
      const beside_slow = await measureOthers(part, 'few', few)
      await forwarder.stop()
      const share = round(speed.per_cpu_second / speed.bare_per_cpu_second)
      const rss_mb = Math.max(speed.rss_mb, beside_dead.rss_mb, beside_slow.rss_mb)
      const pace = Math.round((beside_slow.heard.slow?.count ?? 0) / seconds)
      const p99_ms = Math.max(beside_dead.p99_ms, beside_slow.p99_ms)
      const rowOf = (part: string, others: Others) => ({ part, per_cpu_second: '', ...withoutHeard(others) })
      return {
        rows: [
          { part: 'bare loop', per_cpu_second: speed.bare_per_cpu_second, ...nothing },
          { ...{ part: 'forwarder', per_cpu_second: speed.per_cpu_second }, ...nothing, rss_mb: speed.rss_mb },
          rowOf(`${dead} of ${partners} partners hang`, beside_dead),
          rowOf(`${few} partners alone`, alone),
          rowOf(`beside one with ${due} due`, beside_slow),
        ],
        aims: [
          { what: 'deliveries for each CPU second, of a bare loop', aim: '>= 0.5', measured: share, met: share >= 0.5 },
          { what: 'from due to the arrival, p99 of others, ms', aim: '<= 1000', measured: p99_ms, met: p99_ms <= 1000 },
          { what: 'memory of the forwarder, MB', aim: '<= 200', measured: rss_mb, met: rss_mb <= 200 },
          {
            ...{
              what: `deliveries/s of the partner that drains, ${limits.partner_tries_at_once_max} at once, ${slow_answer_ms} ms each`,
            },
            ...{ aim: `>= ${pace_min}`, measured: pace, met: pace >= pace_min },
          },
        ],
      }
    } finally {
      servers.stop()
      await pool.end()
      await fleet.stop()
    }
  },
}

const round = (value: number) => Math.round(value * 100) / 100
const nothing = { p50_ms: '', p99_ms: '', rss_mb: '', cpu_percent: '' }

interface Part {
  pool: Pool
  servers: Awaited<ReturnType<typeof startServers>>
  pid: number
  seconds: number
}

async function startServers() {
  const child = fork(join(import.meta.dirname, 'partner-servers.ts'))
  const [ports] = (await once(child, 'message')) as [number[]]
  return {
    ports,
    /** What came since the last call. */
    async heard(): Promise<HeardByName> {
      child.send('heard')
      const [heard] = (await once(child, 'message')) as [HeardByName]
      return heard
    },
    stop: () => child.disconnect(),
  }
}

async function untilSent(pool: Pool, name: string): Promise<void> {
  while ((await countDue(pool, name)) > 0) await pause(100)
}

/** Both send the same requests, as many as each may at once, after some that are no part of the figure. */
async function measureSpeed({ pool, pid, servers }: Part, port: number, deliveries: number) {
  const each = deliveries / few
  const urls = Array.from({ length: few * each }, (_, n) => urlOf({ name: 'few', port }, n % few))
  const bare_per_cpu_second = Math.round((urls.length * 0.9) / (await bareSeconds({ urls, at_once: 128 })))
  await addDue(pool, { name: 'few', each: Math.ceil(each / 4) })
  await untilSent(pool, 'few')
  await pool.query('DELETE FROM due_postbacks')
  const memory = watchMemoryOf(pid)
  const before = cpuSeconds(pid)
  await addDue(pool, { name: 'few', each })
  await untilSent(pool, 'few')
  const per_cpu_second = Math.round((few * each) / (cpuSeconds(pid) - before))
  await servers.heard()
  return { bare_per_cpu_second, per_cpu_second, rss_mb: memory() }
}

async function bareSeconds(order: BareOrder): Promise<number> {
  const child = fork(join(import.meta.dirname, 'bare-loop.ts'))
  child.send(order)
  const [{ cpu_seconds = 0 }] = (await once(child, 'message')) as [ProcessReport]
  return cpu_seconds
}

type Others = Awaited<ReturnType<typeof measureOthers>>
const withoutHeard = ({ heard, ...rest }: Others) => rest

/** Partners with the name are owed a postback each now and then: how long until they hear of it, whatever else is due. */
async function measureOthers({ pool, servers, pid, seconds }: Part, name: string, count: number) {
  await servers.heard()
  const memory = watchMemoryOf(pid)
  const before = cpuSeconds(pid)
  const every = 10
  await openLoop({ rate: others_per_second / every, seconds }, (n) =>
    addDue(pool, {
      ...{ name, each: 1 },
      numbers: Array.from({ length: every }, (_, k) => (n * every * 7919 + k * 104_729) % count),
    }),
  )
  const cpu_percent = Math.round(((cpuSeconds(pid) - before) / seconds) * 100)
  await pause(late_ms)
  const rss_mb = memory()
  const heard = await servers.heard()
  const ms = heard[name]?.ms ?? []
  // A postback that did not come in time counts as the slowest.
  const owed = others_per_second * seconds
  const all = [...ms, ...Array<number>(Math.max(0, owed - ms.length)).fill(Number.POSITIVE_INFINITY)]
  return {
    ...{ p50_ms: percentile(all, 0.5), p99_ms: percentile(all, 0.99), late: owed - ms.length, rss_mb, cpu_percent },
    heard,
  }
}
