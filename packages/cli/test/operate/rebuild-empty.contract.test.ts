import { randomUUID } from 'node:crypto'
import { describeWithEngine } from '@tributary/testing/engines/describe-with-engine'
import { expect, it, onTestFinished } from 'vitest'
import { tributary } from '../run-tributary.ts'

await describeWithEngine('clickhouse', (engine) => {
  it('a server without tables is named as one that lacks migrations, with the command that makes them', async () => {
    const database = `empty_${randomUUID().slice(0, 8)}`
    const send = (sql: string) => fetch(engine.url, { method: 'POST', body: sql })
    await send(`CREATE DATABASE ${database}`)
    onTestFinished(async () => void (await send(`DROP DATABASE ${database}`)))
    const run = await tributary(['rebuild', '--dry-run'], {
      TRIBUTARY_CLICKHOUSE_URL: `${engine.url}/${database}`,
      TRIBUTARY_KAFKA_BROKERS: '127.0.0.1:9',
    })
    expect(run.code).toBe(1)
    expect(run.stderr).toMatch(/ClickHouse lacks \d+ migrations.*npx tributary migrate/)
  })
})
