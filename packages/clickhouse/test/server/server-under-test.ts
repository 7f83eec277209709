import { randomUUID } from 'node:crypto'
import { openClickhouseServer, type ServerOptions } from '@tributary/clickhouse/server'

/** Settings that suit tests, for a server at `url`. */
export const testServer = (url: string, given: Partial<ServerOptions> = {}): ServerOptions => ({
  url,
  connect_timeout_ms: 2000,
  query_timeout_ms: 20_000,
  max_open_connections: 8,
  ...given,
})

/** An empty database of its own on the server, and how to remove it. */
export async function makeDatabase(url: string): Promise<{ database: string; drop(): Promise<void> }> {
  const database = `test_${randomUUID().replaceAll('-', '')}`
  const command = async (sql: string) => {
    const root = await openClickhouseServer(testServer(url, { database: 'default' }))
    await root.command(sql)
    await root.close()
  }
  await command(`CREATE DATABASE ${database}`)
  return { database, drop: () => command(`DROP DATABASE ${database}`) }
}
