import { expect, test } from 'vitest'
import { isAnyInserting } from '../../src/server/running-inserts.ts'

interface Cluster {
  /** The ids of running statements, for each replica that can be reached. */
  reached: string[][]
  /** Replicas that Keeper knows as active. */
  active: number
}

/** Answers the queries that the function sends, since no cluster can be run here. */
function asking(servers: Cluster | string[]) {
  const asked: string[] = []
  const replicas = Array.isArray(servers) ? [servers] : servers.reached
  const ask = async <Row>(sql: string, params: Record<string, unknown> = {}): Promise<Row[]> => {
    asked.push(sql.replaceAll(/\s+/g, ' '))
    const rows = () => {
      if (sql.includes('system.tables')) return Array.isArray(servers) ? [] : [{ cluster: 'analytics' }]
      if (sql.includes('system.replicas')) return [{ active: (servers as Cluster).active }]
      const seen = sql.includes(`clusterAllReplicas('analytics', system.processes)`) ? replicas : replicas.slice(0, 1)
      const running = seen.flat().filter((id) => id.startsWith(String(params.prefix))).length
      return [{ running, servers: seen.length }]
    }
    return rows() as Row[]
  }
  return { asked, isInserting: () => isAnyInserting(ask, 'event-writer/batch/') }
}
const ours = 'event-writer/batch/2026/0-1'

test('an insert that another replica has at work is found', async () => {
  expect(await asking({ reached: [[], ['other'], [ours]], active: 3 }).isInserting()).toBe(true)
  expect(await asking({ reached: [['other'], [], []], active: 3 }).isInserting()).toBe(false)
})

test('a replica that is lost is not waited for; one that is active and does not answer is', async () => {
  expect(await asking({ reached: [[], []], active: 2 }).isInserting()).toBe(false)
  await expect(asking({ reached: [[], []], active: 3 }).isInserting()).rejects.toThrow('only 2 of 3 active replicas')
  expect(await asking({ reached: [[ours], []], active: 3 }).isInserting()).toBe(true)
})

test('a server with plain tables is asked alone, without rights that only a cluster needs', async () => {
  const server = asking([ours])
  expect(await server.isInserting()).toBe(true)
  expect(server.asked.join()).not.toMatch(/system\.replicas|clusterAllReplicas/)
})
