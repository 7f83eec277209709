import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { startStandaloneProcess } from '@tributary/testing/standalone/standalone-process'
import { type Bench, type BenchRow, numberArgument, percentile } from '../bench.ts'
import { sendEvents } from '../end-to-end/send-events.ts'

const email = 'bench@example.com'
const password = 'a password of the benchmark'

/** Measures what people who sign in cost the events of a standalone process, in pairs: without them, then with them. */
export const bench: Bench = {
  name: 'sign-in',
  title: 'sign-in: p95 of /event beside people who sign in (--clients 50 --rate 2000 events/s --seconds 10 --pairs 3)',
  async run(args) {
    const clients = numberArgument(args, 'clients', 50)
    const rate = numberArgument(args, 'rate', 2000)
    const seconds = numberArgument(args, 'seconds', 10)
    const pairs = numberArgument(args, 'pairs', 3)
    const data_dir = mkdtempSync(join(tmpdir(), 'tributary-bench-sign-in-'))
    const standalone = await startStandaloneProcess({ data_dir })
    try {
      const { url } = standalone
      await makeAccount(url, data_dir)
      const order = { url, demo: standalone.demo(), seconds, rate }
      await sendEvents({ ...order, seconds: 3 }) // compiles
      const rows: BenchRow[] = []
      for (let pair = 0; pair < pairs; pair += 1) {
        const alone = await sendEvents(order)
        const stop = new AbortController()
        const signing = Promise.all(Array.from({ length: clients }, () => signIn(url, stop.signal)))
        const beside = await sendEvents(order)
        stop.abort()
        const sign_ins_ms = (await signing).flat()
        rows.push({
          ...{ alone_p95_ms: round(alone.ack_p95_ms), beside_p95_ms: round(beside.ack_p95_ms) },
          ratio: round(beside.ack_p95_ms / alone.ack_p95_ms),
          sign_ins_per_second: round(sign_ins_ms.length / seconds),
          sign_in_p50_ms: round(percentile(sign_ins_ms, 0.5)),
        })
      }
      const check_ms = await sessionCheckMs(url, readFileSync(join(data_dir, 'admin-token'), 'utf8').trim())
      const ratio = percentile(
        rows.map((row) => Number(row.ratio)),
        0.5,
      )
      return {
        rows,
        aims: [
          { what: 'p95 of /event beside sign-ins, against alone', aim: '<= 1.2', measured: ratio, met: ratio <= 1.2 },
          { what: 'a session check, ms', aim: '<= 0.2', measured: check_ms, met: check_ms <= 0.2 },
        ],
      }
    } finally {
      await standalone.stop('SIGTERM')
      rmSync(data_dir, { recursive: true, force: true })
    }
  },
}

const round = (value: number) => Math.round(value * 100) / 100

const ask = (url: string, path: string, body: object) =>
  fetch(`${url}/admin/api/v1${path}`, {
    method: 'POST',
    headers: { origin: url, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

async function makeAccount(url: string, data_dir: string): Promise<void> {
  const token = /#(\S+)/.exec(readFileSync(join(data_dir, 'first-sign-in'), 'utf8'))?.[1]
  const answer = await ask(url, '/invitations/accept', { token, email, password })
  if (!answer.ok) throw new Error(`no account was made: ${await answer.text()}`)
}

/** Signs in again and again; the time of each success. A busy queue refuses some: whoever is refused waits for a moment. */
async function signIn(url: string, signal: AbortSignal): Promise<number[]> {
  const took_ms: number[] = []
  while (!signal.aborted) {
    const sent = performance.now()
    const answer = await ask(url, '/sign-in', { email, password })
    await answer.arrayBuffer()
    if (answer.ok) took_ms.push(performance.now() - sent)
    else await pause(200)
  }
  return took_ms
}

/** What a request by session takes above the same one with the admin token: the session and the rights of its person. */
async function sessionCheckMs(url: string, admin_token: string): Promise<number> {
  const signed = await ask(url, '/sign-in', { email, password })
  const cookie = signed.headers
    .getSetCookie()
    .map((one) => one.split(';')[0])
    .join('; ')
  const callers: Record<string, string>[] = [{ authorization: `Bearer ${admin_token}` }, { cookie }]
  const took_ms: [number[], number[]] = [[], []]
  for (let n = 0; n < 4000; n += 1) {
    const headers = callers[n % 2]!
    const sent = performance.now()
    const answer = await fetch(`${url}/admin/api/v1/companies`, { headers })
    await answer.arrayBuffer()
    if (!answer.ok) throw new Error(`companies were refused: ${answer.status}`)
    took_ms[n % 2]!.push(performance.now() - sent)
  }
  return Math.max(0, round(percentile(took_ms[1], 0.5) - percentile(took_ms[0], 0.5)))
}
