import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { copyTemplate, tables_template } from '../data/template.ts'
import type { Recipe } from '../engine.ts'
import { freePorts } from '../ports.ts'

const program = fileURLToPath(new URL('clickhouse-http/main.ts', import.meta.url))

/**
 * A test engine for machines without a ClickHouse server: chdb behind ClickHouse's HTTP protocol, so that several processes
 * share one engine over the protocol of production. SQL and storage equal the server of its version; no users, no Keeper.
 */
export const clickhouse: Recipe = {
  name: 'clickhouse',
  variable: 'TRIBUTARY_TEST_CLICKHOUSE_URL',
  container: {
    image: 'clickhouse/clickhouse-server:26.7',
    port: 8123,
    environment: () => ({ CLICKHOUSE_DB: 'tributary', CLICKHOUSE_SKIP_USER_SETUP: '1' }),
    url: (host, port) => `http://${host}:${port}`,
  },
  install: async () => {},
  async launch(dir) {
    const [port = 0] = await freePorts(1)
    const url = `http://127.0.0.1:${port}`
    return {
      command: 'env',
      args: ['UV_THREADPOOL_SIZE=8', process.execPath, program, String(port), join(dir, 'data')],
      url,
      probe: async () => {
        const answer = await fetch(`${url}/ping`, { signal: AbortSignal.timeout(1000) })
        await answer.arrayBuffer()
      },
    }
  },
}

/** The same on the tables that an earlier test has left, where there are any: the migrations are done. */
export const migratedClickhouse: Recipe = {
  ...clickhouse,
  async launch(dir) {
    await copyTemplate(tables_template, join(dir, 'data'))
    return clickhouse.launch(dir)
  },
}
