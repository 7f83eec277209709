import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openEmbeddedClickhouse } from '@tributary/clickhouse/embedded'
import { startApp, tapLink } from '@tributary/testing/attribution/phone'
import { startStandaloneProcess, waitUntilWritten } from '@tributary/testing/standalone/standalone-process'
import { type Bench, type BenchRow, numberArgument, percentile } from '../bench.ts'
import { sendEvents } from '../end-to-end/send-events.ts'

/** Installs that are watched until their verdict is there; each watcher has one at a time, and a key of its own. */
const watchers = 8
const poll_ms = 100

interface Place {
  url: string
  data_dir: string
  demo: Record<string, string>
  link_url: string
}

/** Measures the time from the 200 of an install to its verdict in the tables, beside a paced load of events and installs. */
export const bench: Bench = {
  name: 'install-to-row',
  title:
    'install-to-row: accepted install to attributed row (--seconds 60 --rate 5000 events/s --installs 50 a second)',
  async run(args) {
    const seconds = numberArgument(args, 'seconds', 60)
    const rate = numberArgument(args, 'rate', 5000)
    const installs = numberArgument(args, 'installs', 50)
    const data_dir = mkdtempSync(join(tmpdir(), 'tributary-bench-install-'))
    const env = { TRIBUTARY_TRUSTED_PROXIES: '127.0.0.0/8' }
    const { stop, url, demo: readDemo } = await startStandaloneProcess({ data_dir, env })
    try {
      const demo = readDemo()
      const link_url = await makeLink(url, data_dir, demo.APP_ID ?? '')
      const place = { url, data_dir, demo, link_url }
      const end_ms = performance.now() + seconds * 1000
      const [sent, waits] = await Promise.all([
        sendInstalls(place, installs, end_ms),
        watchInstalls(place, end_ms),
        sendEvents({ url, demo, seconds, rate }),
      ])
      await waitUntilWritten(url, data_dir)
      const p99 = Math.round(percentile(waits, 0.99))
      const missing = sent + waits.length - (await countAttributed(place))
      await stop('SIGTERM')
      return {
        rows: [rowOf('from the answer to the row, watched', waits), ...(await readHops(data_dir))],
        aims: [
          { what: 'install to attributed row, p99, ms', aim: '<= 3000', measured: p99, met: p99 <= 3000 },
          { what: 'installs that are not attributed', aim: '0', measured: missing, met: missing === 0 },
        ],
      }
    } finally {
      await stop('SIGTERM')
      rmSync(data_dir, { recursive: true, force: true })
    }
  },
}

const rowOf = (hop: string, waits: readonly number[]) => ({
  ...{ hop, installs: waits.length, p50_ms: Math.round(percentile(waits, 0.5)) },
  ...{ p99_ms: Math.round(percentile(waits, 0.99)), max_ms: Math.round(Math.max(...waits)) },
})

/** SQL of the waits of each hop of an install. A row counts as stored when its batch begins. */
const hops = {
  'click to the batch of click-writer': 'SELECT stored_at_ms - clicked_at_ms AS ms FROM clicks_raw_v1',
  'install received to decided': 'SELECT decided_at_ms - received_at_ms AS ms FROM installs_v1 WHERE sign = 1',
  'decided to the batch of install-writer': 'SELECT stored_at_ms - decided_at_ms AS ms FROM installs_v1 WHERE sign = 1',
}

async function readHops(data_dir: string): Promise<BenchRow[]> {
  const clickhouse = await openEmbeddedClickhouse({ data_dir: join(data_dir, 'clickhouse') })
  try {
    const rows: BenchRow[] = []
    for (const [hop, sql] of Object.entries(hops)) {
      const waits = (await clickhouse.query<{ ms: number }>(sql)).map(({ ms }) => ms)
      rows.push(rowOf(hop, waits))
    }
    return rows
  } finally {
    await clickhouse.close()
  }
}

const admin = async <Answer>(url: string, data_dir: string, path: string, body: object): Promise<Answer> => {
  const token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${url}/admin/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as Answer
}

async function makeLink(url: string, data_dir: string, app_id: string): Promise<string> {
  const { link_id } = await admin<{ link_id: string }>(url, data_dir, '/links', { app_id, partner: 'bench' })
  return `${url}/l/${link_id}`
}

/** A phone of a network of its own taps the link and starts the app. Resolves with its install_uuid once it is accepted. */
async function newInstall({ url, demo, link_url }: Place): Promise<string> {
  const install_uuid = randomUUID()
  const bytes = Buffer.from(install_uuid.replaceAll('-', ''), 'hex')
  // A private address is in no data centre, whose clicks are filtered.
  const ip = `10.${bytes[0]}.${bytes[1]}.${bytes[2]}`
  const { referrer } = await tapLink(link_url, ip)
  const keys = {
    ...{ company_key: demo.COMPANY_KEY ?? '', app_key: demo.APP_KEY ?? '' },
    signing_secret: demo.SIGNING_SECRET ?? '',
  }
  const status = await startApp(url, keys, { install_uuid, ip, props: { install_referrer: referrer } })
  if (status !== 200) throw new Error(`an install was answered ${status}`)
  return install_uuid
}

/** Sends installs at an even pace, whether earlier ones are answered or not. Resolves with their number. */
async function sendInstalls(place: Place, per_second: number, end_ms: number): Promise<number> {
  const started = performance.now()
  const sent: Promise<string>[] = []
  while (performance.now() < end_ms) {
    sent.push(newInstall(place))
    await pause(Math.max(0, started + (sent.length * 1000) / per_second - performance.now()))
  }
  return (await Promise.all(sent)).length
}

async function watchInstalls(place: Place, end_ms: number): Promise<number[]> {
  const { url, data_dir, demo } = place
  const waits = Array.from({ length: watchers }, async () => {
    const key = { app_id: demo.APP_ID, label: 'watcher', allowed_events: [] }
    const headers = { authorization: `Bearer ${(await admin<{ key: string }>(url, data_dir, '/keys', key)).key}` }
    const found_ms: number[] = []
    while (performance.now() < end_ms) {
      const install_uuid = await newInstall(place)
      const accepted_ms = performance.now()
      while (!(await hasVerdict(`${url}/api/v1/installs/${install_uuid}`, headers))) await pause(poll_ms)
      found_ms.push(performance.now() - accepted_ms)
    }
    return found_ms
  })
  return (await Promise.all(waits)).flat()
}

async function hasVerdict(address: string, headers: Record<string, string>): Promise<boolean> {
  const answer = await fetch(address, { headers })
  const { verdict = null } = (await answer.json()) as { verdict?: object | null }
  return verdict !== null
}

async function countAttributed({ url, demo }: Place): Promise<number> {
  const headers = { authorization: `Bearer ${demo.SERVER_KEY}` }
  const answer = await fetch(`${url}/api/v1/reports/attribution?limit=1000`, { headers })
  const { rows } = (await answer.json()) as { rows: { partner: string; installs: number }[] }
  return rows.filter(({ partner }) => partner === 'bench').reduce((sum, { installs }) => sum + installs, 0)
}
