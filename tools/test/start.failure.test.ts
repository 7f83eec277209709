import { randomBytes } from 'node:crypto'
import { openKafkaBroker } from '@tributary/broker/kafka'
import { deadLetterTopic, topics } from '@tributary/contracts/topics'
import { declaredProcesses } from '@tributary/testing/declared-services'
import { openAllEngines } from '@tributary/testing/engines/all-engines'
import { describeWith } from '@tributary/testing/engines/describe-with-engine'
import { openOwnEngine } from '@tributary/testing/engines/open-engine'
import { freePorts } from '@tributary/testing/engines/ports'
import pino from 'pino'
import { expect, it } from 'vitest'
import { messagesOf, runService, startReady, tributary } from './service-process.ts'

const declared = await declaredProcesses()
const names = declared.map(({ name }) => name)

const each = async <T>(work: (name: string) => Promise<T>): Promise<Record<string, T>> =>
  Object.fromEntries(await Promise.all(names.map(async (name) => [name, await work(name)])))

it('a service without settings names all required settings at once', async () => {
  const ended = await each((name) => runService(name, {}))
  for (const one of Object.values(ended)) {
    expect({ code: one.code, stderr: one.stderr }).toEqual({ code: 1, stderr: messagesOf(one).concat('\n') })
    expect(one.stderr).not.toMatch(/\bat .*:\d+:\d+/)
  }
  const named = (name: string) =>
    [...ended[name]!.stderr.matchAll(/^ {2}(TRIBUTARY_\w+) is needed: /gm)].map(([, n]) => n)
  for (const { name, required } of declared) expect(named(name).sort(), name).toEqual(required.toSorted())
  expect(named('admin-api')).toEqual(expect.arrayContaining(['TRIBUTARY_ADMIN_TOKEN', 'TRIBUTARY_MASTER_KEY']))
})

/** One service for each choice of databases: a service only declares its engines, and these refuse. */
const oneOfEachKind = (services: typeof declared) => {
  const kindOf = ({ required }: (typeof declared)[number]) =>
    required
      .filter((name) => /CLICKHOUSE|POSTGRES/.test(name))
      .toSorted()
      .join()
  return [...new Map(services.map((one) => [kindOf(one), one])).values()]
}

/** A busy machine must not be the reason why a service does not start. */
const patient = (settings: Record<string, string>) => ({
  ...settings,
  TRIBUTARY_CLICKHOUSE_CONNECT_TIMEOUT_MS: '60000',
})

/** All engines, and a second Kafka for topics that are wrong. */
async function openServers() {
  const [all, kafka] = await Promise.allSettled([openAllEngines(openOwnEngine), openOwnEngine('kafka')])
  if (all.status === 'fulfilled' && kafka.status === 'fulfilled') {
    const stop = async () => void (await Promise.all([all.value.stop(), kafka.value.stop()]))
    return { ...all.value, otherKafka: kafka.value, stop }
  }
  if (all.status === 'fulfilled') await all.value.stop()
  if (kafka.status === 'fulfilled') await kafka.value.stop()
  throw all.status === 'rejected' ? all.reason : (kafka as PromiseRejectedResult).reason
}

// One story: the engines are empty at the beginning and ready for service at the end.
await describeWith('set of engines', openServers, ({ engines, otherKafka, settings }) => {
  const refuses = async (name: string, why: string | RegExp, changed: Record<string, string> = {}) => {
    const ended = await runService(name, { ...patient(settings), ...changed })
    const messages = messagesOf(ended)
    expect({ name, code: ended.code, messages }).toEqual({ name, code: 1, messages: expect.stringMatching(why) })
    expect(messages.split('\n')).toHaveLength(1)
    expect(messages).not.toMatch(/\bat .*:\d+:\d+/)
    expect(ended.stderr).not.toContain('"level":"fatal"') // the log level of an unexpected failure
  }

  it('no service starts before topics and schemas exist, and each names the command that makes them', async () => {
    const unmade = /^([\w-]+: )?The topic [\w.]+ is missing\. Run: npx tributary topics apply$/
    const unmigrated =
      /^([\w-]+: )?(ClickHouse|PostgreSQL) lacks \d+ migrations \([\w.]+\)\. Run: npx tributary migrate$/
    const either = new RegExp(`${unmade.source}|${unmigrated.source}`)
    await Promise.all(['event-writer', 'ingest-gateway', 'postback-gateway'].map((name) => refuses(name, either)))
    expect((await tributary('topics apply', settings)).code).toBe(0)
    const onSchemas = declared.filter(({ required }) => required.some((name) => /CLICKHOUSE|POSTGRES/.test(name)))
    expect(onSchemas.length).toBeGreaterThan(6)
    const kinds = oneOfEachKind(onSchemas)
    expect(kinds).toHaveLength(3)
    await Promise.all(kinds.map(({ name }) => refuses(name, unmigrated)))
    const { stdout } = await tributary('doctor --json', settings)
    const failed = (JSON.parse(stdout).checks as { name: string; ok: boolean }[]).filter(({ ok }) => !ok)
    expect(failed.map(({ name }) => name)).toEqual(['postgresql', 'clickhouse', 'service'])
  })

  it('topics and schemas are made once, on servers and without a data folder', async () => {
    const nowhere = { ...settings, TRIBUTARY_DATA_DIR: '/nowhere/at/all' }
    const json = async (words: string) => JSON.parse((await tributary(`${words} --json`, nowhere)).stdout)
    const all = Object.values(topics).flatMap((topic) => [topic.name, deadLetterTopic(topic).name])
    expect(await json('topics apply')).toEqual({ dry_run: false, created: [], changed: [], unchanged: all })
    const planned = await json('migrate --dry-run')
    expect(planned.postgres).toContain('0001_tenants')
    expect(planned.clickhouse).toContain('0001_events_raw')
    expect(await json('migrate')).toEqual({ ...planned, dry_run: false })
    expect(await json('migrate')).toEqual({ dry_run: false, postgres: [], clickhouse: [] })
    const copies = { ...settings, TRIBUTARY_KAFKA_REPLICATION_FACTOR: '3' }
    expect(JSON.parse((await tributary('topics apply --json', copies)).stderr)).toMatchObject({
      error: 'topic_differs',
    })
  })

  it('wrong addresses are refused in one line that names the setting', async () => {
    const [port] = await freePorts(1)
    const wrong = (setting: string, value: string) => ({ [setting]: value })
    await Promise.all([
      refuses('ingest-gateway', /bucket elsewhere .*TRIBUTARY_S3_BUCKET/, wrong('TRIBUTARY_S3_BUCKET', 'elsewhere')),
      refuses(
        'report-api',
        /ClickHouse .*nowhere.*TRIBUTARY_CLICKHOUSE_URL/,
        wrong('TRIBUTARY_CLICKHOUSE_URL', `${engines.clickhouse.url}/nowhere`),
      ),
      refuses(
        'event-writer',
        /no Kafka broker answers.*TRIBUTARY_KAFKA_BROKERS/,
        wrong('TRIBUTARY_KAFKA_BROKERS', `127.0.0.1:${port}`),
      ),
      refuses(
        'admin-api',
        /password authentication failed.*TRIBUTARY_POSTGRES_URL/,
        wrong('TRIBUTARY_POSTGRES_URL', settings.TRIBUTARY_POSTGRES_URL!.replace(/:\w+@/, ':wrong@')),
      ),
    ])
  })

  it('each service then becomes ready, status and doctor pass, and SIGTERM ends it with 0', async () => {
    const ports = await freePorts(names.length)
    const started = await Promise.all(names.map((name, index) => startReady(name, ports[index]!, patient(settings))))
    const withUrl = { ...settings, TRIBUTARY_URL: started[0]!.url }
    for (const [index, { bindings }] of declared.entries()) {
      const health = (await (await fetch(`${started[index]!.url}/health`)).json()) as { bindings: object }
      expect(Object.keys(health.bindings).sort(), names[index]).toEqual(bindings.toSorted())
    }
    const status = await tributary('status --wait --json', withUrl)
    expect({ code: status.code, ...JSON.parse(status.stdout) }).toMatchObject({ code: 0, ready: true })
    const doctor = await tributary('doctor --json', withUrl)
    expect(JSON.parse(doctor.stdout).checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([])
    for (const { child } of started) child.kill('SIGTERM')
    expect((await Promise.all(started.map(({ ended }) => ended))).map(({ code }) => code)).toEqual(names.map(() => 0))
  })

  it('a service with another master key does not start', async () => {
    const other = { TRIBUTARY_MASTER_KEY: randomBytes(32).toString('base64') }
    const why =
      /^([\w-]+: )?The secrets in PostgreSQL were not made with the master key of TRIBUTARY_MASTER_KEY .*copy\. .*TRIBUTARY_MASTER_KEY_OLD\.$/
    const holders = declared.filter(({ resources }) => resources.includes('masterKeys'))
    expect(holders.length).toBeGreaterThan(1)
    const kinds = oneOfEachKind(holders)
    expect(kinds.length).toBeGreaterThan(1)
    await Promise.all(kinds.map(({ name }) => refuses(name, why, other)))
  })

  it('a topic with another partition count is refused by services and commands alike', async () => {
    const broker = await openKafkaBroker({
      brokers: [otherKafka.url],
      client_id: 'test',
      linger_ms: 0,
      send_bytes_max: 1024,
      buffer_bytes_max: 1024,
      logger: pino({ level: 'silent' }),
    })
    const all = Object.values(topics).flatMap((topic) => [topic, deadLetterTopic(topic)])
    await broker.applyTopics(all.map((topic) => ({ ...topic, partitions: 3 })))
    await broker.close()
    const there = { TRIBUTARY_KAFKA_BROKERS: otherKafka.url }
    const why =
      /^The topic [\w.]+ has 3 partitions, not 12, .*Delete it if it is empty and run: npx tributary topics apply$/
    await Promise.all([refuses('event-writer', why, there), refuses('ingest-gateway', why, there)])
    const { code, stderr } = await tributary('topics apply --json', { ...settings, ...there })
    expect({ code, ...JSON.parse(stderr) }).toMatchObject({ code: 1, error: 'topic_differs' })
  })

  it('doctor names hanging servers within seconds', async () => {
    const all = Object.values(engines)
    await Promise.all(all.map((engine) => engine.pause()))
    try {
      const { code, stdout } = await tributary('doctor --json', settings)
      expect(code).toBe(1)
      const checks = JSON.parse(stdout).checks as { name: string; ok: boolean; fix: string | null }[]
      const found = checks.map(({ name, ok, fix }) => [name, ok, (fix ?? '').includes('TRIBUTARY_')])
      expect(found).toEqual([
        ['node', true, false],
        ['admin token', true, false],
        ['master key', true, false],
        ...['kafka', 'postgresql', 'clickhouse', 'redis', 's3', 'service'].map((name) => [name, false, true]),
      ])
    } finally {
      for (const engine of all) engine.resume()
    }
  })
})
