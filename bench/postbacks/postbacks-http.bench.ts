import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limits } from '@tributary/contracts/limits'
import { Pool } from 'undici'
import { type Aim, type Bench, numberArgument, percentile, profileFlags } from '../bench.ts'
import { startProcess } from '../process/drive-process.ts'
import { type LoopTimes, openLoop } from '../process/open-loop.ts'

/** Fewer than a gateway may have in flight; an open loop needs more only when the gateway stands still. */
const connections = 100
const warm_seconds = 5

/** Postbacks at a fixed rate, whatever the answers do: new ones, the same bytes again, and junk. */
export const bench: Bench = {
  name: 'postbacks-http',
  title:
    'postbacks-http: postbacks of many addresses in an open loop, each durable before its answer (embedded; --rate 1000 --seconds 30 --cpu-prof FOLDER)',
  async run(args) {
    const bare = [await measure(args, 'new', 'bare'), await measure(args, 'new', 'synced')]
    const rows: Figures[] = []
    for (const kind of Object.keys(kinds) as Kind[]) rows.push(await measure(args, kind))
    const [stored, , short, ...large] = rows as [Figures, Figures, Figures, ...Figures[]]
    const cost = ({ cpu_us_each }: Figures) => Math.round((cpu_us_each / stored.cpu_us_each) * 100) / 100
    const worst = Math.max(...large.map(cost))
    const aims: Aim[] = [
      { what: 'p99 of new ones, ms', aim: '<= 20', measured: stored.p99_ms, met: stored.p99_ms <= 20 },
      { what: 'CPU of short junk, in new ones', aim: '<= 1', measured: cost(short), met: cost(short) <= 1 },
      { what: 'CPU of the worst 64 KiB, in new ones', aim: '<= 3', measured: worst, met: worst <= 3 },
      {
        ...{ what: 'answered 200 - logged', aim: '0' },
        ...{ measured: stored.sent - stored.logged, met: stored.sent === stored.logged },
      },
    ]
    return { rows: [...bare, ...rows], aims }
  },
}

/** Ids and signatures are random, so that they compress as real ones do. */
const skan = ({ id, signature } = { id: randomUUID(), signature: randomBytes(71).toString('base64') }) =>
  JSON.stringify({
    ...{ version: '4.0', 'ad-network-id': 'network.example', 'source-identifier': '5239', 'app-id': 1234567890 },
    ...{ 'transaction-id': id, redownload: false, 'source-app-id': 1122334455, 'fidelity-type': 1, 'did-win': true },
    ...{ 'conversion-value': 21, 'postback-sequence-index': 0, 'attribution-signature': signature },
  })
const same = skan({ id: '5f0c1d9e-7a41-4b52-8f3a-1b2c3d4e5f60', signature: 'A'.repeat(96) })
const deep = limits.postback_body_bytes_max / 2 - 10

/** The body of each kind, and the status that it gets. */
const kinds = {
  new: { body: () => skan(), status: 200 },
  same: { body: () => same, status: 200 },
  'junk of 400 bytes': { body: () => 'x'.repeat(400), status: 400 },
  'junk of 8 KiB': { body: () => '['.repeat(limits.postback_body_bytes_max), status: 400 },
  'deep, cut off': { body: () => `{"a":${'['.repeat(deep)}${']'.repeat(deep)}`, status: 400 },
  'over 8 KiB': { body: () => 'x'.repeat(limits.postback_body_bytes_max + 1), status: 413 },
}
type Kind = keyof typeof kinds

const bareNames = { bare: 'bare route', synced: 'bare, on the disk' }

/** A load on a process of its own: the gateway, or a bare route that the same load is compared with. */
async function measure(args: string[], kind: Kind, bare?: keyof typeof bareNames) {
  const rate = numberArgument(args, 'rate', 1000)
  const seconds = numberArgument(args, 'seconds', 30)
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-bench-postbacks-'))
  try {
    const [file, order] =
      bare === undefined ? ['gateway.ts', data_dir] : ['bare-route.ts', { data_dir, synced: bare === 'synced' }]
    const server = await startProcess(join(import.meta.dirname, file), order, profileFlags(args))
    const warm = await sendPostbacks(server.port, kind, { rate: rate / 2, seconds: Math.min(warm_seconds, seconds) })
    server.startWatch()
    const load = await sendPostbacks(server.port, kind, { rate, seconds, from: warm.ms.length })
    const { cpu_seconds, rss_mb } = await server.stopWatch()
    const { logged } = await server.countLogged()
    await server.stop()
    return {
      kind: bare === undefined ? kind : bareNames[bare],
      per_second: Math.round(load.ms.length / load.seconds),
      p50_ms: Math.round(percentile(load.ms, 0.5) * 10) / 10,
      p99_ms: Math.round(percentile(load.ms, 0.99) * 10) / 10,
      cpu_us_each: Math.round((cpu_seconds * 1e6) / load.ms.length),
      rss_mb,
      sent: warm.ms.length + load.ms.length,
      logged,
    }
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}

type Figures = Awaited<ReturnType<typeof measure>>

interface Load {
  rate: number
  seconds: number
  /** Number of the first one. */
  from?: number
}

/** Postbacks come from 60,000 addresses, so none is limited. */
async function sendPostbacks(port: number, kind: Kind, { from = 0, ...load }: Load): Promise<LoopTimes> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1 })
  const { body, status } = kinds[kind]
  const times = await openLoop(load, async (sent) => {
    const n = from + sent
    const ip = `84.${n % 250}.${Math.floor(n / 250) % 250}.7`
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': ip }
    const answer = await pool.request({ method: 'POST', path: '/skan-postback', headers, body: body() })
    await answer.body.dump()
    if (answer.statusCode !== status) throw new Error(`answered ${answer.statusCode}`)
  })
  await pool.close()
  return times
}
