import { type AddressInfo, connect } from 'node:net'
import { limits } from '@tributary/contracts/limits'
import { createHttpApp } from '@tributary/service-kit/http/http-app'
import { buildTenant, memoryCredentials, type Tenant } from '@tributary/testing/builders'
import { memoryKeyValue } from '@tributary/testing/twins/memory-key-value'
import { noPostbacks } from '@tributary/testing/twins/postback-apps'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { reportApi } from '../../src/app.ts'
import { limitStatements } from '../../src/turns/statement-limits.ts'

const [loud, quiet] = [buildTenant(), buildTenant()] as const
const in_hand_max = limits.key_reports_running_max + limits.key_reports_waiting_max

/** Statements that reached the engine, in their order; each ends when a test says so. */
let statements: { app_id: string; sql: string; end: (rows?: unknown[]) => void }[]
let app: ReturnType<typeof createHttpApp>
let registry: Registry

async function open(embedded: boolean, patience = {}): Promise<void> {
  const logger = pino({ level: 'silent' })
  app = createHttpApp({ logger, patience })
  registry = new Registry()
  const clickhouse = {
    query: <Row>(sql: string, params: Record<string, unknown> = {}) =>
      new Promise<Row[]>((resolve) => {
        statements.push({ app_id: String(params.app_id), sql, end: (rows = []) => resolve(rows as Row[]) })
      }),
  }
  const credentials = memoryCredentials([loud, quiet])
  const keyValue = memoryKeyValue(Date.now)
  const fxRates = { find: async () => () => null }
  await app.register(
    reportApi({
      ...noPostbacks(),
      clickhouse,
      embedded,
      credentials,
      fxRates,
      keyValue,
      now: Date.now,
      registry,
      logger,
    }),
  )
}
beforeEach(() => {
  statements = []
})
afterEach(() => app.close())

const headersOf = (tenant: Tenant) => ({ authorization: `Bearer ${tenant.server_key}` })
const get = async (path: string, tenant: Tenant) => app.inject({ url: path, headers: headersOf(tenant) })
const report = (tenant: Tenant) => get('/api/v1/reports/events?since_ms=0&until_ms=86400000', tenant)
const statementsAre = (count: number) => vi.waitFor(() => expect(statements).toHaveLength(count), { timeout: 180_000 })
const waitingAre = (count: number) =>
  vi.waitFor(async () => expect(await registry.metrics()).toContain(`tributary_reports{state="waiting"} ${count}\n`), {
    timeout: 180_000,
  })

/** Ends the statements as they come, until each of these is answered. */
async function drain<Answer>(answers: Promise<Answer>[]): Promise<Answer[]> {
  let open = true
  const all = Promise.all(answers).finally(() => {
    open = false
  })
  for (let ended = 0; open; await new Promise(setImmediate)) {
    for (; ended < statements.length; ended += 1) statements[ended]!.end()
  }
  return all
}

test('of 300 reports of one key at once 36 are answered, the others are rate_limited and count as requests', async () => {
  await open(false)
  const answers = Array.from({ length: 300 }, () => report(loud))
  await statementsAre(limits.key_reports_running_max)
  await waitingAre(limits.key_reports_waiting_max)
  const all = await drain(answers)
  const refused = all.filter(({ statusCode }) => statusCode === 429)
  expect(refused).toHaveLength(300 - in_hand_max)
  for (const { headers, body } of refused) {
    expect(headers).toMatchObject({ 'retry-after': '1', 'ratelimit-limit': '1000' })
    expect(JSON.parse(body).error).toBe('rate_limited')
  }
  expect(all.filter(({ statusCode }) => statusCode === 200)).toHaveLength(in_hand_max)
  const next = await drain([report(loud)])
  expect(next[0]!.headers['ratelimit-remaining']).toBe('699')
})

test('the report of another company is the next to start, however many of one key wait', async () => {
  await open(true)
  const answers = Array.from({ length: 300 }, () => report(loud))
  const ahead = in_hand_max - limits.embedded_reports_running_max
  await waitingAre(ahead)
  const other = report(quiet)
  await waitingAre(ahead + 1)
  // An empty report of whole days is one statement.
  statements[0]!.end()
  await statementsAre(3)
  const [loudApp, quietApp] = [loud.app.app_id, quiet.app.app_id]
  expect(statements.map(({ app_id }) => app_id)).toEqual([loudApp, loudApp, quietApp])
  const [answer] = await drain([other, ...answers])
  expect(answer!.statusCode).toBe(200)
})

test('a report whose client left while it waited is not run', async () => {
  await open(true)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/api/v1/reports/events`
  const running = [report(loud), report(loud)]
  await statementsAre(2)
  const client = new AbortController()
  const left = fetch(url, { headers: headersOf(quiet), signal: client.signal }).catch((error) => error.name)
  await waitingAre(1)
  client.abort()
  expect(await left).toBe('AbortError')
  await waitingAre(0)
  for (const { statusCode } of await drain(running)) expect(statusCode).toBe(200)
  expect(statements.filter(({ app_id }) => app_id === quiet.app.app_id)).toEqual([])
  expect(await registry.metrics()).toContain('tributary_report_refused_total{reason="client_left"} 1')
})

test('requests in one connection that waited are not run either when it ends', async () => {
  await open(true)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const running = [report(loud), report(loud)]
  await statementsAre(2)
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  const one = `GET /api/v1/reports/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${quiet.server_key}\r\n\r\n`
  client.write(one.repeat(5))
  await waitingAre(5)
  client.destroy()
  await waitingAre(0)
  await drain(running)
  expect(statements.filter(({ app_id }) => app_id === quiet.app.app_id)).toEqual([])
})

test('a report that runs begins no further statement once its client left', async () => {
  const sent: string[] = []
  const query = async (sql: string) => {
    sent.push(sql)
    return []
  }
  const client = new AbortController()
  const limited = limitStatements({ query }, 1_000_000, client.signal)
  await limited.query('SELECT 1')
  client.abort()
  expect(() => limited.query('SELECT 2')).toThrow(expect.objectContaining({ code: 'unavailable' }))
  expect(sent).toHaveLength(1)
})

test('the connection of a report outlives the silence that ends others', async () => {
  await open(true, { silence_ms_max: 50 })
  app.get('/silent', () => new Promise(() => {}))
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const answer = fetch(`http://127.0.0.1:${port}/api/v1/reports/events`, { headers: headersOf(quiet) })
  await statementsAre(1)
  await expect(fetch(`http://127.0.0.1:${port}/silent`)).rejects.toThrow('fetch failed')
  const [{ status }] = (await drain([answer])) as [Response]
  expect(status).toBe(200)
})

test('look-ups of installs take their turns with the reports', async () => {
  await open(true)
  const running = [report(loud), report(loud)]
  await statementsAre(2)
  const install = get('/api/v1/installs/i-1', quiet)
  await waitingAre(1)
  expect(statements).toHaveLength(2)
  const [answer] = await drain([install, ...running])
  expect(answer!.statusCode).toBe(404)
})

test('each statement carries limits of time, memory and threads', async () => {
  await open(true)
  await drain([report(quiet)])
  expect(statements.length).toBeGreaterThan(0)
  for (const { sql } of statements) {
    const settings = sql.slice(sql.lastIndexOf('SETTINGS'))
    expect(settings).toMatch(/max_execution_time = (29|30),/)
    expect(settings).toContain(`max_memory_usage = ${limits.embedded_report_memory_bytes_max}`)
    expect(settings).toContain(`max_threads = ${limits.report_threads_max}`)
  }
})
