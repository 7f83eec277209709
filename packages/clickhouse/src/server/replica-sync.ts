import type { ClickHouseClient, ResponseHeaders } from '@clickhouse/client'

interface SyncedServer {
  /** Throws when another server gave the answer: it may lack rows. */
  requireSameServer(answer: ResponseHeaders): void
}

type Sync = (sql: string, abort_signal: AbortSignal) => Promise<SyncedServer>

/**
 * Makes a replica complete right before it is asked: `SYSTEM SYNC REPLICA ... LIGHTWEIGHT` waits until it has fetched
 * every part that any replica had committed. Plain tables need none of it.
 *
 * `select_sequential_consistency` would do the same only for inserts that wait for each other (`insert_quorum_parallel =
 * 0`), and a quorum alone leaves the replicas outside of it behind.
 */
export function replicaSync(client: ClickHouseClient, timeout_ms: number): Sync {
  let known: Promise<ReadonlySet<string>> | undefined
  const replicated = async (abort_signal: AbortSignal) => {
    known ??= findReplicatedTables(client, abort_signal)
    return known.catch((error: unknown) => {
      known = undefined
      throw error
    })
  }
  const sync = async (table: string, abort_signal: AbortSignal) => {
    const { response_headers } = await client.command({
      query: `SYSTEM SYNC REPLICA ${table} LIGHTWEIGHT`,
      abort_signal,
      clickhouse_settings: { receive_timeout: Math.ceil(timeout_ms / 1000) },
    })
    return serverOf(response_headers)
  }
  return async (sql, abort_signal) => {
    const named = tablesOf(sql)
    const tables = named.length === 0 ? new Set() : await replicated(abort_signal)
    const servers = await Promise.all(
      named.filter((table) => tables.has(table)).map((table) => sync(table, abort_signal)),
    )
    return {
      requireSameServer(answer) {
        if (servers.every((server) => server === serverOf(answer))) return
        throw new Error(
          `One address of ClickHouse leads to several servers (${[...servers, serverOf(answer)].join(', ')})`,
        )
      },
    }
  }
}

async function findReplicatedTables(client: ClickHouseClient, abort_signal: AbortSignal): Promise<ReadonlySet<string>> {
  const found = await client.query({
    query: `SELECT name FROM system.tables WHERE database = currentDatabase() AND startsWith(engine, 'Replicated')`,
    format: 'JSONEachRow',
    abort_signal,
  })
  return new Set((await found.json<{ name: string }>()).map(({ name }) => name))
}

/** The tables that one of our own statements reads. */
const tablesOf = (sql: string): string[] => [
  ...new Set([...sql.matchAll(/\b(?:FROM|JOIN)\s+(\w+_v\d+)\b/g)].map(([, table]) => table!)),
]

/** Every answer of a server says which one it is. */
const serverOf = (headers: ResponseHeaders): string => String(headers['x-clickhouse-server-display-name'] ?? 'unnamed')
