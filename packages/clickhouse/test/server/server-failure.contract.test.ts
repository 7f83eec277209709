import { createServer } from 'node:http'
import { type AddressInfo, createServer as createSilent } from 'node:net'
import { openClickhouseServer } from '@tributary/clickhouse/server'
import { describeWithOwnEngine } from '@tributary/testing/engines/describe-with-engine'
import { freePorts } from '@tributary/testing/engines/ports'
import { expect, it, vi } from 'vitest'
import { testServer } from './server-under-test.ts'

const unavailable = { code: 'unavailable' }

await describeWithOwnEngine('clickhouse', (engine) => {
  it('says unavailable while the engine is away, and goes on by itself when it is back', async () => {
    const clickhouse = await openClickhouseServer(testServer(engine.url))
    await clickhouse.command(
      'CREATE TABLE kept (a UInt8) ENGINE = MergeTree ORDER BY a SETTINGS non_replicated_deduplication_window = 100',
    )
    const insert = () => clickhouse.insert({ table: 'kept', columns: ['a'], lines: '[1]', token: 'one' })
    await insert()
    await engine.kill()
    await expect(clickhouse.query('SELECT 1')).rejects.toMatchObject(unavailable)
    await expect(insert()).rejects.toMatchObject(unavailable)
    await expect(clickhouse.checkHealth()).rejects.toMatchObject(unavailable)
    await engine.restart()
    await insert()
    expect(await clickhouse.query('SELECT count() AS n FROM kept')).toEqual([{ n: 1 }])
    await clickhouse.close()
  })

  it('cuts off every call to an engine that hangs at its deadline', async () => {
    const clickhouse = await openClickhouseServer(testServer(engine.url, { query_timeout_ms: 500 }))
    await engine.pause()
    try {
      const calls = [
        clickhouse.query('SELECT 1'),
        clickhouse.command('SELECT 1'),
        clickhouse.insert({ table: 'kept', columns: ['a'], lines: '[2]', token: 'two' }),
        clickhouse.checkHealth(),
      ]
      for (const call of calls) await expect(call).rejects.toMatchObject(unavailable)
    } finally {
      engine.resume()
    }
    await vi.waitFor(() => clickhouse.checkHealth(), { timeout: 180_000 })
    await clickhouse.close()
  })

  it('opens while the engine is away, so that a service can start before it', async () => {
    const [port] = await freePorts(1)
    const warnings: string[] = []
    const logger = { info: () => {}, warn: (_fields: object, message: string) => warnings.push(message) }
    const clickhouse = await openClickhouseServer(testServer(`http://127.0.0.1:${port}`, { logger }))
    expect(warnings).toEqual(['clickhouse server is away'])
    await expect(clickhouse.checkHealth()).rejects.toMatchObject(unavailable)
    await clickhouse.close()
  })

  it('refuses to open on a database that is not there', async () => {
    await expect(openClickhouseServer(testServer(engine.url, { database: 'nowhere' }))).rejects.toThrow(/nowhere/)
  })

  it("takes a proxy's page for unavailability", async () => {
    const proxy = createServer((_request, response) => response.writeHead(502).end('<html>Bad Gateway</html>'))
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const clickhouse = await openClickhouseServer(
      testServer(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`),
    )
    await expect(clickhouse.query('SELECT 1')).rejects.toMatchObject(unavailable)
    await clickhouse.close()
    proxy.close()
  })

  it('gives up on a host that takes the connection and then says nothing', async () => {
    const silent = createSilent(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`
    const started = performance.now()
    const clickhouse = await openClickhouseServer(testServer(url, { connect_timeout_ms: 200 }))
    await expect(clickhouse.query('SELECT 1')).rejects.toMatchObject({
      ...unavailable,
      cause: { message: expect.stringMatching(/^No connection to 127\.0\.0\.1:\d+ in 200 ms$/) },
    })
    expect(performance.now() - started).toBeLessThan(60_000)
    await clickhouse.close()
    silent.close()
  })
})
