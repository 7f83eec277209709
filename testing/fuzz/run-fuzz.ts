import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type StandaloneProcess,
  startStandaloneProcess,
  waitUntilWritten,
} from '@tributary/testing/standalone/standalone-process'
import { brokenExchange, type Exchange, keptConnection } from './connection.ts'
import { type FuzzRequest, makeRequest } from './drafts/requests.ts'
import { findFault, isBusy, readJson } from './judge.ts'
import { findGrowth, type MemoryFigures, watchMemory } from './memory.ts'
import { createTally, reportedEvents, type Tally } from './tally.ts'
import { type FuzzTenants, makeFuzzTenants } from './tenants.ts'

export interface FuzzOptions {
  seed: number
  /** The run ends after this many requests or seconds, whichever comes first. */
  requests: number
  seconds: number
  /** Only this request of the run. */
  only?: number
  log(line: string): void
}

/** Accepted events of an app by the answers to its clients, and by its report. */
interface Counted {
  accepted: number
  distinct: number
  reported: number
}

export interface FuzzResult {
  seed: number
  requests: number
  seconds: number
  requests_per_second: number
  /** Number of requests by kind. A `broken` one is not HTTP, or more than one request. */
  kinds: Record<string, number>
  /** Number of answers by status and code. */
  answers: Record<string, number>
  slowest_ms: number
  memory: MemoryFigures | null
  mutated: Counted
  valid: Counted
  /** `distinct` is unknown, because clients of broken requests may get no answer. */
  broken: { reported: number }
  failures: Failure[]
}

interface Failure {
  fault: string
  request?: number
  /** The bytes of the request. */
  file?: string
}

const connections = 96
/** Largest share of answers 503 `unavailable`. Clients wait for answers, so only a slow machine causes them. */
const busy_share_max = 0.01

/** Sends malformed requests to a new standalone process, and checks each answer and the final counts. */
export async function runFuzz(options: FuzzOptions): Promise<FuzzResult> {
  const data_dir = mkdtempSync(join(tmpdir(), 'tributary-fuzz-'))
  const service = await startStandaloneProcess({ data_dir })
  try {
    const token = readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
    return await fuzz(service, data_dir, await makeFuzzTenants(service.url, token), options)
  } finally {
    await service.stop('SIGTERM')
    rmSync(data_dir, { recursive: true, force: true })
  }
}

interface Run {
  options: FuzzOptions
  tenants: FuzzTenants
  port: number
  tally: Tally
  next: number
  kinds: Map<string, number>
  answers: Map<string, number>
  slowest_ms: number
  busy: number
  failures: Failure[]
}

async function fuzz(service: StandaloneProcess, data_dir: string, tenants: FuzzTenants, options: FuzzOptions) {
  const { seed, requests, seconds, only, log } = options
  log(`seed ${seed}, ${service.url}`)
  const port = Number(new URL(service.url).port)
  const maps = { kinds: new Map<string, number>(), answers: new Map<string, number>() }
  const run: Run = {
    options,
    tenants,
    port,
    tally: createTally(),
    next: 0,
    slowest_ms: 0,
    busy: 0,
    failures: [],
    ...maps,
  }
  const memory = watchMemory(service.pid, service.url)
  const started = performance.now()
  const elapsed_s = () => (performance.now() - started) / 1000
  const progress = setInterval(
    () => log(`${run.next} requests, ${Math.round(run.next / elapsed_s())}/s, ${memory.now_mb()} MiB`),
    10_000,
  )
  const nextOf = () => {
    if (run.failures.length > 0 || run.next >= (only === undefined ? requests : 1) || elapsed_s() >= seconds)
      return null
    const n = run.next++
    return only ?? n
  }
  await Promise.all(Array.from({ length: connections }, () => client(run, nextOf)))
  clearInterval(progress)
  const took_s = elapsed_s()
  // One more ordinary request, after all others.
  if (run.failures.length === 0) await sendOne(run, keptConnection(port), 100 * Math.ceil(run.next / 100))
  const figures = await memory.end()
  const counted = await countAll(run, service, data_dir).catch((error: Error) => {
    run.failures.push({ fault: `the run could not be counted: ${error.message}` })
    return { mutated: none, valid: none, broken: { reported: -1 } }
  })
  run.failures.push(...overallFaults(run, figures, service.output()))
  return {
    seed,
    requests: run.next,
    seconds: Math.round(took_s * 10) / 10,
    requests_per_second: Math.round(run.next / took_s),
    kinds: sorted(run.kinds),
    answers: sorted(run.answers),
    slowest_ms: Math.round(run.slowest_ms),
    memory: figures,
    ...counted,
    failures: run.failures,
  } satisfies FuzzResult
}

/** Faults of the whole run: growing memory, too many busy answers, an error in the log. */
function overallFaults({ busy, next }: Run, figures: MemoryFigures | null, output: string): Failure[] {
  const growth = figures === null ? null : findGrowth(figures)
  const too_busy = busy > 10 + next * busy_share_max ? `${busy} answers were 503 unavailable` : null
  const line = output.split('\n').find((one) => /"level":"(error|fatal)"/.test(one))
  const logged = line === undefined ? null : `the service logged ${line.slice(0, 500)}`
  return [growth, too_busy, logged].filter((fault) => fault !== null).map((fault) => ({ fault }))
}

const none: Counted = { accepted: -1, distinct: -1, reported: -1 }
const sorted = (counts: Map<string, number>) => Object.fromEntries([...counts].sort(([, a], [, b]) => b - a))

/** Sends requests until none is left or one has failed. */
async function client(run: Run, nextOf: () => number | null): Promise<void> {
  const connection = keptConnection(run.port)
  for (let n = nextOf(); n !== null; n = nextOf()) await sendOne(run, connection, n)
  connection.close()
}

async function sendOne(run: Run, connection: ReturnType<typeof keptConnection>, n: number): Promise<void> {
  const request = makeRequest(run.options.seed, n, run.tenants)
  const exchange = await converse(run, connection, request)
  count(run.kinds, request.broken ? 'broken' : request.kind)
  run.slowest_ms = Math.max(run.slowest_ms, exchange.ms)
  for (const { status, body } of exchange.answers) {
    const { error = '' } = status < 400 ? {} : ((readJson(body) ?? {}) as { error?: string })
    count(run.answers, `${status} ${error}`.trim())
  }
  if (exchange.answers.length === 0) count(run.answers, 'closed')
  const fault = findFault(request, exchange) ?? tallyFault(run, request, exchange)
  if (fault !== null) run.failures.push({ fault, request: n, file: keepRequest(run.options.seed, request) })
}

async function converse(run: Run, connection: ReturnType<typeof keptConnection>, request: FuzzRequest) {
  const { n, bytes, method, broken, valid_events } = request
  if (broken) return brokenExchange(run.port, bytes, n % 2 === 0 ? 'at-once' : 'later')
  for (;;) {
    const exchange = await connection.exchange(bytes, method)
    const busy = exchange.answers.some(isBusy)
    if (busy) run.busy += 1
    if (!busy || valid_events === null) return exchange
    await pause(1000) // an ordinary client sends again
  }
}

function tallyFault({ tally }: Run, request: FuzzRequest, { answers: [answer] }: Exchange): string | null {
  if (request.broken || answer === undefined) return null
  try {
    return tally.take(request, answer)
  } catch (error) {
    return `accepted what can't be read: ${(error as Error).message}`
  }
}

const count = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1)

function keepRequest(seed: number, { n, bytes }: FuzzRequest): string {
  const file = join(tmpdir(), `tributary-fuzz-${seed}-${n}.request`)
  writeFileSync(file, bytes, { mode: 0o600 })
  return file
}

/** Waits until all is written and compares: no accepted event is lost or doubled, no refused event is stored. */
async function countAll({ tenants, tally, failures }: Run, { url }: StandaloneProcess, data_dir: string) {
  await waitUntilWritten(url, data_dir)
  const counted = async (app: keyof FuzzTenants & ('mutated' | 'valid')): Promise<Counted> => {
    const reported = await reportedEvents(url, tenants[app].report_key)
    const { accepted, distinct } = tally.of(tenants[app].app_id)
    if (reported !== distinct)
      failures.push({ fault: `${app}: ${distinct} distinct events accepted, ${reported} reported` })
    return { accepted, distinct, reported }
  }
  const mutated = await counted('mutated')
  const valid = await counted('valid')
  const spent = await reportedEvents(url, tenants.spent.report_key)
  if (spent > 0) failures.push({ fault: `${spent} events of a company without quota` })
  return { mutated, valid, broken: { reported: await reportedEvents(url, tenants.broken.report_key) } }
}
