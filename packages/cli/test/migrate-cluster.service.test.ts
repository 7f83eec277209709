import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { EngineRefused } from '@tributary/service-kit/resources/engine-refused'
import { StartRefused } from '@tributary/service-kit/settings/start-refused'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { migrateClickhouseServer } from '../src/engines/migrate-servers.ts'

afterEach(() => void vi.unstubAllEnvs())

/** A server with one cluster of this many shards (0: no cluster), and the statements that it got. */
async function openServer(shards: number) {
  const statements: string[] = []
  const server = createServer(async (request, response) => {
    const sql = await text(request)
    statements.push(sql)
    response.end(sql.includes('system.clusters') ? `{"shards":${shards}}\n` : '')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  vi.stubEnv('TRIBUTARY_CLICKHOUSE_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return { made: () => statements.filter((sql) => /^\s*(--|CREATE|ALTER|RENAME)/.test(sql)) }
}

const set = (replicated: string, cluster: string) => {
  vi.stubEnv('TRIBUTARY_CLICKHOUSE_REPLICATED', replicated)
  vi.stubEnv('TRIBUTARY_CLICKHOUSE_CLUSTER', cluster)
}

test.each([
  ['true', ''],
  ['false', 'analytics'],
])('replicated %s with the cluster %j is refused before any statement is sent', async (replicated, cluster) => {
  const { made } = await openServer(1)
  set(replicated, cluster)
  expect(() => migrateClickhouseServer(false)).toThrow(StartRefused)
  expect(() => migrateClickhouseServer(false)).toThrow(
    /_(REPLICATED|CLUSTER) does nothing without \S+_(REPLICATED|CLUSTER): /,
  )
  expect(made()).toEqual([])
})

test.each([
  [0, /knows no cluster analytics\. Is TRIBUTARY_CLICKHOUSE_CLUSTER right/],
  [3, /cluster analytics has 3 shards, .*one shard/],
])('a cluster of %i shards is refused, and nothing is made', async (shards, why) => {
  const { made } = await openServer(shards)
  set('true', 'analytics')
  const refusal = await migrateClickhouseServer(false).catch((error: unknown) => error)
  expect(refusal).toBeInstanceOf(EngineRefused)
  expect((refusal as Error).message).toMatch(why)
  expect(made()).toEqual([])
})

test('on a cluster of one shard every table is replicated, with a path that names cluster and table', async () => {
  const { made } = await openServer(1)
  set('true', 'analytics')
  const names = await migrateClickhouseServer(false)
  expect(made()).toHaveLength(names.length + 1) // and the table of the migrations
  for (const statement of made()) expect(statement).toContain("ON CLUSTER 'analytics'")
  const tables = made().filter((statement) => statement.includes('ENGINE = '))
  for (const table of tables) expect(table).toMatch(/ENGINE = Replicated\w+\('\/clickhouse\/tables\/analytics\//)
})
