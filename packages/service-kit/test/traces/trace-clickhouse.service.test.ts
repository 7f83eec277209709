import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { clickhouseSettings, openClickhouse } from '@tributary/service-kit/resources/clickhouse'
import { readSettings } from '@tributary/service-kit/settings/read-settings'
import { expect, it, onTestFinished } from 'vitest'
import { serviceUnderTest } from '../service/service-under-test.ts'
import { openTestTraces } from './test-traces.ts'

/** A server that answers no rows, and that notes by the beginning of each statement which trace names it. */
async function startServer() {
  const named: (readonly [statement: string, traceparent: string | undefined])[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const { searchParams } = new URL(request.url!, 'http://server')
      const statement = `${searchParams.get('query') ?? ''}${Buffer.concat(chunks)}`
      named.push([statement.slice(0, 20), request.headers.traceparent as string | undefined])
      if (statement.includes('refused')) response.writeHead(400).end("Code: 62. DB::Exception: near 'secret-value'")
      else response.end('')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, named }
}

const open = (url: string, service: Parameters<typeof openClickhouse>[1]) =>
  openClickhouse(
    readSettings({ TRIBUTARY_CLICKHOUSE_URL: url }, clickhouseSettings, ['TRIBUTARY_CLICKHOUSE_URL']),
    service,
  )

it('each statement of a recorded trace has a span, and names it to the server; the span holds no value of the statement', async () => {
  const { traces, service, collector, sent } = await openTestTraces({ OTEL_TRACES_SAMPLER: 'always_on' })
  const { url, named } = await startServer()
  const clickhouse = await open(url, { ...service, traces })
  named.length = 0
  const request = traces.begin({ name: 'request', kind: 'server' })!
  await traces.within(request, async () => {
    await clickhouse.query(
      "SELECT app_id FROM secret_table WHERE a = 'secret-value' UNION ALL SELECT 1 FROM events_raw_v1",
    )
    await clickhouse.insert({
      table: 'clicks_raw_v1',
      columns: ['a'],
      lines: '["secret-value"]',
      token: 'secret-token',
    })
    await clickhouse.command('ALTER TABLE installs_v1 DELETE WHERE a = 1')
    for await (const _ of await clickhouse.stream('SELECT 1', {
      format: 'JSONEachRow',
      signal: AbortSignal.timeout(9999),
    }));
    await expect(clickhouse.query('SELECT refused')).rejects.toThrow()
  })
  request.end({})
  await clickhouse.query('SELECT 2')
  const spans = (await sent()).filter(({ name }) => name !== 'request')
  expect(spans.map(({ name, failed }) => [name, failed])).toEqual([
    ['SELECT events_raw_v1', false],
    ['INSERT clicks_raw_v1', false],
    ['ALTER installs_v1', false],
    ['SELECT', false],
    ['SELECT', true],
  ])
  const names = spans.map(({ trace_id, span_id }) => `00-${trace_id}-${span_id}-01`)
  const isSync = ([statement]: readonly [string, unknown]) => /^SELECT name FROM/.test(statement)
  expect(named.filter((one) => !isSync(one)).map(([, traceparent]) => traceparent)).toEqual([...names, undefined])
  expect(collector.texts.join()).not.toContain('secret')
})

it('without traces no statement names one', async () => {
  const { service, close } = serviceUnderTest()
  const { url, named } = await startServer()
  const clickhouse = await open(url, service)
  await clickhouse.query('SELECT 1')
  await clickhouse.insert({ table: 'a', columns: ['a'], lines: '[1]', token: 'one' })
  await clickhouse.command('SELECT 1')
  await close()
  expect(named.length).toBeGreaterThanOrEqual(3)
  expect(named.filter(([, traceparent]) => traceparent !== undefined)).toEqual([])
})
