import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedClickhouse } from '@tributary/clickhouse/embedded'
import { limits } from '@tributary/contracts/limits'
import { type AppleTwin, aakPayload, createAppleTwin, skanFields } from '@tributary/testing/postback/apple-twin'
import { writeJson } from '@tributary/testing/postback/json'
import {
  type StandaloneProcess,
  startStandaloneProcess,
  waitUntilWritten,
} from '@tributary/testing/standalone/standalone-process'
import pino from 'pino'
import { Pool } from 'undici'
import { type Bench, numberArgument, percentile } from '../bench.ts'
import { cpuSeconds, mappedMegabytes, ownMegabytes } from '../process/process-cost.ts'

const connections = 64
const look_ms = 5000
const logged_every = 20_000
const store_id = 10_738_027_756
const kid = 'bench/0'

/** Postbacks through the gateway, the writer and the report of a standalone process; counts must be equal, memory flat. */
export const bench: Bench = {
  name: 'postbacks-million',
  title:
    'postbacks-million: signed, resent, repeated and forged postbacks through standalone, counted in its tables and report (--postbacks 1000000)',
  async run(args) {
    const count = numberArgument(args, 'postbacks', 1_000_000)
    const data_dir = mkdtempSync(join(tmpdir(), 'tributary-bench-million-'))
    const apple = createAppleTwin()
    const keys = await serveKeys(apple)
    const settings = { TRIBUTARY_TRUSTED_PROXIES: '127.0.0.1', TRIBUTARY_AAK_JWKS_URL: keys.url }
    try {
      const standalone = await startStandaloneProcess({ data_dir, env: settings })
      const memory = watchMemory(standalone.pid)
      try {
        await registerApp(standalone, data_dir)
        const before = cpuSeconds(standalone.pid)
        const started = performance.now()
        const sent = await sendAll(standalone, apple, count)
        await waitUntilWritten(standalone.url, data_dir, 3_600_000)
        const seconds = (performance.now() - started) / 1000
        const cpu_us_each = Math.round(((cpuSeconds(standalone.pid) - before) / count) * 1e6)
        const reported = await readReport(standalone)
        const { early_mb, late_mb, peak_mb } = memory.end()
        await standalone.stop('SIGTERM')
        const stored = await countStored(data_dir)
        // A gateway forgets bytes beyond `postbacks_remembered_max` in ten minutes: the same ones are then stored, and not counted.
        const again = stored.raw - (count - sent.repeated)
        const of_ten_minutes = Math.min(count, (count / seconds) * (limits.postback_remembered_ms / 1000))
        const forgets = of_ten_minutes > limits.postbacks_remembered_max
        const equal = (what: string, measured: number, aim: number) => ({
          ...{ what, aim: `${aim}`, measured, met: measured === aim },
        })
        return {
          rows: [
            { sent: count, ...sent, seconds: Math.round(seconds), cpu_us_each, early_mb, late_mb, peak_mb, ...stored },
          ],
          aims: [
            {
              ...{ what: 'repeats stored', aim: forgets ? `0 to ${sent.repeated}` : '0', measured: again },
              met: again >= 0 && again <= (forgets ? sent.repeated : 0),
            },
            equal('rows judged', stored.decoded, stored.raw),
            equal('valid ones claimed', stored.claims, sent.genuine + sent.resent + again),
            equal('postbacks in the report', reported.postbacks, sent.genuine),
            equal('installs in the report', reported.installs, sent.genuine),
            equal('first values in the report', reported.first_values, sent.genuine),
            equal('unverified in the report', reported.unverified, sent.forged),
            { what: 'MB late, by early', aim: '<= 1.2', measured: late_mb / early_mb, met: late_mb / early_mb <= 1.2 },
          ],
        }
      } finally {
        memory.end()
        await standalone.stop('SIGKILL')
      }
    } finally {
      keys.close()
      rmSync(data_dir, { recursive: true, force: true })
    }
  },
}

/** A JWK set with the key of the twin, which Apple never published. */
async function serveKeys(apple: AppleTwin) {
  const jwk = [...apple.keys.aak.values()][0]!.key.export({ format: 'jwk' })
  const set = JSON.stringify({ keys: [{ ...jwk, kid, use: 'sig', alg: 'ES256' }] })
  const server = createServer((_, answer) => answer.end(set)).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/keys.json`, close: () => server.close() }
}

async function registerApp({ url, demo }: StandaloneProcess, data_dir: string): Promise<void> {
  const token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
  const answer = await fetch(`${url}/admin/api/v1/apps/${demo().IOS_APP_ID}`, {
    ...{ method: 'PATCH', headers: { authorization: `Bearer ${token}` } },
    body: JSON.stringify({ store_id: `${store_id}` }),
  })
  if (!answer.ok) throw new Error(`the app could not be registered: ${await answer.text()}`)
}

/** Every twenty are 16 genuine ones of value 1, two resends of value 2, the same bytes once more, and a forgery. */
function makeBody(apple: AppleTwin, n: number, latest: { jws: string; body: string }) {
  const kind = n % 20
  const aak = (value: number) => ({
    ...{ path: '/aak-postback', body: writeJson({ 'jws-string': latest.jws, 'conversion-value': value }) },
  })
  if (kind < 16) {
    const payload = aakPayload({ 'advertised-item-identifier': store_id })
    latest.jws = apple.signAak(payload, { kid, alg: 'ES256' })
    latest.body = aak(1).body
    return { kind: 'genuine' as const, ...aak(1) }
  }
  if (kind < 18) return { kind: 'resent' as const, ...aak(kind) }
  if (kind === 18) return { kind: 'repeated' as const, path: '/aak-postback', body: latest.body }
  const fields = apple.signSkan('4.0', skanFields('4.0', { 'app-id': store_id }))
  return { kind: 'forged' as const, path: '/skan-postback', body: writeJson(fields) }
}

async function sendAll({ url, pid }: StandaloneProcess, apple: AppleTwin, count: number) {
  const started = performance.now()
  const pool = new Pool(url, { connections, pipelining: 1 })
  const sent = { genuine: 0, resent: 0, repeated: 0, forged: 0 }
  let next = 0
  // A client sends its twenty one after the other: a resend follows what it repeats.
  const client = async () => {
    const latest = { jws: '', body: '' }
    while (next < count) {
      const first = next
      next += 20
      if (first % logged_every === 0)
        console.info(
          `${Math.round((performance.now() - started) / 1000)} s: ${first} sent, ${ownMegabytes(pid)} MB, of files ${mappedMegabytes(pid)} MB`,
        )
      for (let n = first; n < Math.min(first + 20, count); n += 1) {
        const { kind, path, body } = makeBody(apple, n, latest)
        const headers = { 'x-forwarded-for': `84.${n % 250}.${Math.floor(n / 250) % 250}.7` }
        const answer = await pool.request({ method: 'POST', path, headers, body })
        await answer.body.dump()
        if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`)
        sent[kind] += 1
      }
    }
  }
  await Promise.all(Array.from({ length: connections }, client))
  await pool.close()
  return sent
}

async function readReport({ url, demo }: StandaloneProcess) {
  const answer = await fetch(`${url}/api/v1/reports/skan`, {
    headers: { authorization: `Bearer ${demo().IOS_SERVER_KEY}` },
  })
  const { rows } = (await answer.json()) as {
    rows: { postbacks: number; installs: number; unverified: number; fine: Record<string, number> }[]
  }
  const sum = (pick: (row: (typeof rows)[number]) => number) => rows.reduce((total, row) => total + pick(row), 0)
  return {
    postbacks: sum(({ postbacks }) => postbacks),
    installs: sum(({ installs }) => installs),
    first_values: sum(({ fine }) => fine[1] ?? 0),
    unverified: sum(({ unverified }) => unverified),
  }
}

async function countStored(data_dir: string) {
  const clickhouse = await openEmbeddedClickhouse({
    data_dir: join(data_dir, 'clickhouse'),
    logger: pino({ level: 'warn' }),
  })
  const rowsOf = async (table: string) =>
    (await clickhouse.query<{ rows: number }>(`SELECT count() AS rows FROM ${table} FINAL`))[0]!.rows
  const stored = {
    raw: await rowsOf('postbacks_raw_v1'),
    decoded: await rowsOf('postbacks_decoded_v1'),
    claims: await rowsOf('postback_claims_v1'),
  }
  await clickhouse.close()
  return stored
}

/** Memory of a process: its median in the second fifth of the run, in the last one, and its peak. */
function watchMemory(pid: number) {
  const seen: number[] = []
  const timer = setInterval(() => {
    seen.push(ownMegabytes(pid))
  }, look_ms)
  return {
    end() {
      clearInterval(timer)
      const fifth = (n: number) => seen.slice(Math.floor((seen.length * n) / 5), Math.ceil((seen.length * (n + 1)) / 5))
      return {
        early_mb: percentile(fifth(1), 0.5),
        late_mb: percentile(fifth(4), 0.5),
        peak_mb: Math.max(...seen, 0),
      }
    },
  }
}
