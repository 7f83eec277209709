import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startStandaloneProcess } from '@tributary/testing/standalone/standalone-process'
import { type Aim, type Bench, type BenchRow, numberArgument } from '../bench.ts'

const run = promisify(execFile)
const cli = join(import.meta.dirname, '..', '..', 'packages', 'cli', 'src', 'main.ts')
/** Time for a million keys (docs/performance.md). */
const million_s = 60
const day_ms = 24 * 3600 * 1000
/** The first day of the costs, a year ago: no file has days ahead. */
const first_ms = (Math.floor(Date.now() / day_ms) - 364) * day_ms

/** `tributary cost load` of a file into a new standalone, twice, and the report of what it loaded. */
export const bench: Bench = {
  name: 'costs',
  title: 'costs: a file of costs through tributary cost load into a standalone, and its report (--keys 1000000)',
  async run(args) {
    const keys = numberArgument(args, 'keys', 1_000_000)
    const data_dir = mkdtempSync(join(tmpdir(), 'tributary-bench-costs-'))
    const standalone = await startStandaloneProcess({ data_dir })
    try {
      const token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
      const server_key = await makeKey(standalone.url, token)
      const path = join(data_dir, 'costs.csv')
      await writeFile(path, fileOf(keys))
      const env = { PATH: process.env.PATH, TRIBUTARY_URL: standalone.url, TRIBUTARY_SERVER_KEY: server_key }
      const load = async () => {
        const { stdout } = await run(process.execPath, [cli, 'cost', 'load', '--json', path], { env })
        return JSON.parse(stdout) as { accepted: number; rejected: number; seconds: number }
      }
      const first = await load()
      const reads = [
        await read(standalone.url, server_key, 'first page', { limit: '1000' }),
        await read(standalone.url, server_key, 'last page', { limit: '1000', offset: String(keys - 1000) }),
        await read(standalone.url, server_key, 'by month', { limit: '1000', group: 'month' }),
      ]
      const per_second = Math.round(first.accepted / first.seconds)
      const rows: BenchRow[] = [
        { what: 'cost load', rows: first.accepted, seconds: first.seconds, per_second },
        ...reads.map(({ what, rows: found, seconds }) => ({
          ...{ what, rows: found, seconds, per_second: Math.round(found / seconds) },
        })),
      ]
      const needed = 1_000_000 / per_second
      const lost = keys - (reads[0]?.rows ?? 0)
      const aims: Aim[] = [
        { what: 'seconds of a million keys', aim: `<= ${million_s}`, measured: needed, met: needed <= million_s },
        { what: 'keys that the report lacks', aim: '0', measured: lost, met: lost === 0 },
      ]
      return { rows, aims }
    } finally {
      await standalone.stop('SIGTERM')
      rmSync(data_dir, { recursive: true, force: true })
    }
  },
}

/** Days of a year, 4 partners, 50 campaigns: the keys of each day follow each other, as in files of ad networks. */
function fileOf(keys: number): string {
  const lines = ['day,partner,campaign,ad_group,country,cost,currency,clicks']
  const of_day = Math.ceil(keys / 360)
  for (let n = 0; n < keys; n += 1) {
    const day = new Date(first_ms + Math.floor(n / of_day) * day_ms).toISOString().slice(0, 10)
    const at = n % of_day
    lines.push(`${day},net${at % 4},campaign ${at % 50},group ${Math.floor(at / 50)},DE,${(at + 1) / 100},EUR,${at}`)
  }
  return `${lines.join('\n')}\n`
}

async function makeKey(url: string, token: string): Promise<string> {
  const post = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`${url}/admin/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    if (answer.status !== 200) throw new Error(`${path}: ${await answer.text()}`)
    return (await answer.json()) as Record<string, string>
  }
  const { company_id } = await post('/companies', { name: 'bench' })
  const { app_id } = await post('/apps', { company_id, name: 'bench', platform: 'android' })
  const scopes = ['costs:write', 'reports:read']
  const { key = '' } = await post('/keys', { app_id, label: 'bench', scopes })
  return key
}

/** `rows` are those of all pages. */
async function read(url: string, key: string, what: string, query: Record<string, string>) {
  const window = { since_ms: String(first_ms), until_ms: String(first_ms + 365 * day_ms) }
  const from_ms = performance.now()
  const address = `${url}/api/v1/reports/costs?${new URLSearchParams({ ...window, ...query })}`
  const answer = await fetch(address, { headers: { authorization: `Bearer ${key}` } })
  const { meta } = (await answer.json()) as { meta: { rows: number } }
  return { what, rows: meta.rows, seconds: Math.round(performance.now() - from_ms) / 1000 }
}
