import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { openPostgres } from '@tributary/postgres/postgres'
import type { EngineName, OwnEngine } from '@tributary/testing/engines/engine'
import { kafkaWith } from '@tributary/testing/engines/kafka'
import { openOwnEngine } from '@tributary/testing/engines/open-engine'
import { startOwnEngine } from '@tributary/testing/engines/own-engine'
import { freePorts } from '@tributary/testing/engines/ports'
import { startReaper } from '@tributary/testing/fleet/fleet-process'
import { type ComposeService, parseEnv, readCompose } from './compose-file.ts'
import { buildImage, readDockerfile } from './image.ts'
import { installHaproxy, spawnLoadBalancer } from './load-balancer.ts'

/** A container as a local process. */
export interface Running {
  service: string
  url: string
  /** All that it wrote. */
  log(): string
  /** False once it has ended and all that it wrote is in the log. */
  lives(): boolean
  /** SIGTERM; resolves with its exit code and the milliseconds that it took. */
  stop(): Promise<{ code: number | null; took_ms: number }>
}

/** docker-compose.yml as local processes: the same commands and environment, on other addresses. */
export interface ComposeRun {
  /** Addresses of the load balancer: for everybody, and for operators. */
  url: string
  operators_url: string
  services: Record<string, ComposeService>
  running: Running[]
  /** Where the image was built. */
  image_dir: string
  /** Rows of the ClickHouse engine. */
  query(sql: string): Promise<unknown[]>
  /** Resolves with the exit code of the health check of a service, run against this process of it. */
  checkHealth(running: Running): Promise<number | null>
  stop(): Promise<void>
}

/** Which engine stands for which container. */
const engineOf = {
  kafka: 'kafka:9092',
  clickhouse: 'clickhouse:8123',
  postgres: 'postgres:5432',
  redis: 'valkey:6379',
  s3: 's3:9000',
} as const satisfies Record<EngineName, string>
const healthy_ms_max = 180_000

/** Does what `docker compose up` does with an .env file of this text. Rejects with EngineUnavailable. */
export async function openComposeRun(env_text: string): Promise<ComposeRun> {
  const variables = parseEnv(env_text)
  const services = readCompose(variables)
  const dir = await mkdtemp(join(tmpdir(), 'tributary-compose-'))
  const reaper = startReaper(dir)
  const engines: OwnEngine[] = []
  const running: Running[] = []
  const stop = async () => {
    await reaper.close() // services first, and the folder with them
    await Promise.all(engines.map((engine) => engine.stop()))
  }
  try {
    const image_dir = join(dir, 'image')
    const names = Object.keys(engineOf) as EngineName[]
    const opened = names.map(async (name) => {
      if (name === 'kafka') return [engineOf.kafka, await openKafka(services.kafka?.environment, engines)] as const
      engines.push(await openOwnEngine(name))
      return [engineOf[name], engines.at(-1)?.url ?? ''] as const
    })
    const addresses = await allOrEnded(Promise.all(opened), ...opened, installHaproxy(), buildImage(image_dir))
    await prepareServers(new Map(addresses), variables)
    const hosts = addresses.map(([host, url]) => [host, hostOf(url)] as const)

    const elsewhere = (value: string) =>
      hosts.reduce((changed, [host, local]) => changed.replaceAll(host, local), value)
    const environment = (service: ComposeService) =>
      Object.fromEntries(
        Object.entries(service.environment ?? {}).map(([name, value]) => [name, elsewhere(`${value}`)]),
      )

    function spawnService(name: string, more: Record<string, string> = {}): ChildProcess {
      const service = services[name]
      if (service === undefined) throw new Error(`docker-compose.yml has no ${name}`)
      const ours = service.image === 'tributary'
      const { entrypoint, env } = ours ? readDockerfile() : { entrypoint: [], env: {} }
      const [program = '', ...args] = [...(service.entrypoint ?? entrypoint), ...(service.command ?? [])].map(elsewhere)
      const child = spawn(program === 'node' ? process.execPath : program, args, {
        cwd: ours ? image_dir : dir,
        env: { PATH: process.env.PATH, ...env, ...environment(service), ...more },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      })
      reaper.add(child.pid ?? 0)
      child.on('exit', () => reaper.remove(child.pid ?? 0))
      return child
    }

    async function runJob(name: string) {
      const child = spawnService(name)
      const [said, wrong, [code]] = await Promise.all([text(child.stdout!), text(child.stderr!), once(child, 'close')])
      if (code !== 0) throw new Error(`${name} ended with ${code}: ${said}${wrong}`)
    }

    async function startService(name: string) {
      const [port = 0] = await freePorts(1)
      // A container has the whole network to itself; here the port is part of the address.
      const local = {
        TRIBUTARY_HOST: '127.0.0.1',
        TRIBUTARY_PORT: String(port),
        TRIBUTARY_TRUSTED_PROXIES: '127.0.0.0/8',
      }
      running.push(asRunning(name, `http://127.0.0.1:${port}`, spawnService(name, local)))
    }

    async function checkHealth({ service, url }: Running) {
      const [, program, ...args] = services[service]?.healthcheck?.test ?? []
      const own = args.map((arg) => arg.replace('http://127.0.0.1:8080', url))
      const child = spawn(program === 'node' ? process.execPath : (program ?? ''), own, { stdio: 'ignore' })
      const [code] = await once(child, 'exit')
      return code as number | null
    }

    /** The check itself is a process, which costs more than most services need to start: it is run once a service answers. */
    async function untilHealthy(one: Running) {
      const answers = () =>
        fetch(`${one.url}/ready`).then(
          ({ ok }) => ok,
          () => false,
        )
      const isHealthy = async () => (await answers()) && (await checkHealth(one)) === 0
      for (const deadline = Date.now() + healthy_ms_max; !(await isHealthy()); await pause(250))
        if (!one.lives() || Date.now() > deadline) throw new Error(`${one.service} did not get healthy: ${one.log()}`)
    }

    /** The start of each container, once those that it depends on are there. */
    const starts = new Map<string, Promise<void>>()
    async function start(name: string) {
      const service = services[name]!
      await Promise.all(Object.keys(service.depends_on ?? {}).map((before) => starts.get(before)))
      if (['clickhouse-roles', 's3-users'].includes(name)) return // the engines that stand for these know no users
      if (service.restart === 'no') await runJob(name)
      else if (service.image === 'tributary') {
        await Promise.all(Array.from({ length: service.deploy?.replicas ?? 1 }, () => startService(name)))
        await Promise.all(running.filter((one) => one.service === name).map(untilHealthy))
      }
    }
    for (const name of inOrder(services)) starts.set(name, start(name))
    await allOrEnded(Promise.resolve(), ...starts.values())
    const urls = await startLoadBalancer(dir, running, (child) => reaper.add(child.pid ?? 0))
    const clickhouse_url = new Map(addresses).get(engineOf.clickhouse) ?? ''
    return { ...urls, services, running, image_dir, checkHealth, stop, query: (sql) => ask(clickhouse_url, sql) }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Kafka that asks for the login that the file says. Resolves with the address of that listener. */
async function openKafka(environment: Record<string, string> = {}, engines: OwnEngine[]): Promise<string> {
  const [port = 0] = await freePorts(1)
  const address = `127.0.0.1:${port}`
  const asProperty = (name: string) => name.replace('KAFKA_', '').toLowerCase().replaceAll('_', '.')
  const login = Object.entries(environment).filter(([name]) =>
    /_SASL_(?!MECHANISM_INTER)|^KAFKA_SASL_ENABLED/.test(name),
  )
  const properties = {
    ...Object.fromEntries(login.map(([name, value]) => [asProperty(name), value])),
    'listener.security.protocol.map': `PLAINTEXT:PLAINTEXT,${environment.KAFKA_LISTENER_SECURITY_PROTOCOL_MAP}`,
  }
  engines.push(await startOwnEngine(kafkaWith({ listeners: { CLIENTS: address }, properties })))
  return address
}

/** All, or the first failure once none is under way any more: nothing may start after the clean-up. */
async function allOrEnded<Result>(first: Promise<Result>, ...rest: Promise<unknown>[]): Promise<Result> {
  await Promise.allSettled([first, ...rest])
  await Promise.all(rest)
  return first
}

/** `host:port` of an engine's address. */
const hostOf = (url: string) => (url.includes('://') ? new URL(url).host : url)

async function ask(url: string, sql: string): Promise<unknown[]> {
  const answer = await fetch(`${url}/?database=tributary`, { method: 'POST', body: `${sql} FORMAT JSONCompactEachRow` })
  const rows = await answer.text()
  if (!answer.ok) throw new Error(rows)
  return rows
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** Users and passwords that the images make of their environment. */
async function prepareServers(
  urls: Map<string, string>,
  { POSTGRES_PASSWORD, VALKEY_PASSWORD }: Record<string, string>,
) {
  const pool = openPostgres({
    ...{
      url: urls.get(engineOf.postgres) ?? '',
      pool_max: 1,
      statement_timeout_ms: 10_000,
      connect_timeout_ms: 10_000,
    },
  })
  await pool.query(`ALTER ROLE tributary PASSWORD '${POSTGRES_PASSWORD}'`)
  await pool.query('CREATE DATABASE tributary')
  await pool.end()
  const { hostname, port } = new URL(urls.get(engineOf.redis) ?? '')
  const socket = connect(Number(port), hostname)
  socket.write(`CONFIG SET requirepass ${VALKEY_PASSWORD}\r\n`)
  const [answer] = await once(socket, 'data')
  socket.destroy()
  if (!String(answer).startsWith('+OK')) throw new Error(`Redis took no password: ${answer}`)
}

/** Services, each after those that it depends on. */
function inOrder(services: Record<string, ComposeService>): string[] {
  const order = new Set<string>()
  const add = (name: string) => {
    for (const before of Object.keys(services[name]?.depends_on ?? {})) add(before)
    order.add(name)
  }
  for (const name of Object.keys(services)) add(name)
  return [...order]
}

function asRunning(service: string, url: string, child: ChildProcess): Running {
  let log = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk) => {
      log += chunk
    })
  }
  const exited = once(child, 'exit')
  let closed = false
  child.on('close', () => {
    closed = true
  })
  return {
    service,
    url,
    log: () => log,
    lives: () => !closed,
    async stop() {
      const began = performance.now()
      child.kill('SIGTERM')
      const [code] = await exited
      return { code, took_ms: performance.now() - began }
    },
  }
}

async function startLoadBalancer(dir: string, running: readonly Running[], started: (child: ChildProcess) => void) {
  const addressesOf = (name: string) =>
    running.filter(({ service }) => service === name).map(({ url }) => new URL(url).host)
  const names = ['ingest-gateway', 'link-gateway', 'postback-gateway', 'report-api', 'admin-api']
  const replicas = Object.fromEntries(names.map((name) => [name, addressesOf(name)]))
  const { child, ...urls } = await spawnLoadBalancer(dir, replicas)
  started(child)
  const said = asRunning('load-balancer', '', child)
  for (const deadline = Date.now() + healthy_ms_max; ; await pause(50)) {
    const ready = ['/ready', '/admin/', '/l/none', '/skan-postback', '/api/v1/reports/none'].map((path) =>
      fetch(urls.operators_url + path).then(
        ({ status }) => status,
        () => 503,
      ),
    )
    if ((await Promise.all(ready)).every((status) => status < 500)) return urls
    if (!said.lives() || Date.now() > deadline) throw new Error(`the load balancer finds no service: ${said.log()}`)
  }
}
