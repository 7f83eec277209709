import { Pool } from 'pg'

export interface PostgresOptions {
  url: string
  pool_max: number
  /** Longest run of one statement, held by the server and, for a server that went silent, by the client. */
  statement_timeout_ms: number
  /** Longest wait for a connection, a free place in the pool included. */
  connect_timeout_ms: number
}

const idle_connection_ms = 30_000
const idle_transaction_ms = 15_000
/** The server's own time-out answers first; the client's is for a server that cannot. */
const client_timeout_extra_ms = 1_000

/** A connection pool with every timeout said. A broken idle connection is dropped; the next query opens another. */
export function openPostgres(options: PostgresOptions): Pool {
  const { url, pool_max, statement_timeout_ms, connect_timeout_ms } = options
  const pool = new Pool({
    connectionString: url,
    application_name: 'tributary',
    max: pool_max,
    connectionTimeoutMillis: connect_timeout_ms,
    statement_timeout: statement_timeout_ms,
    query_timeout: statement_timeout_ms + client_timeout_extra_ms,
    lock_timeout: statement_timeout_ms,
    idle_in_transaction_session_timeout: idle_transaction_ms,
    idleTimeoutMillis: idle_connection_ms,
    keepAlive: true,
    allowExitOnIdle: false,
  })
  // Without a listener an idle connection that breaks would end the process. Whoever queries next sees the fault.
  pool.on('error', () => {})
  // The pool takes its own listener away while a connection is in use: one that breaks inside a transaction would end it.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
