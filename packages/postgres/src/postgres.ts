import { Pool } from 'pg'

export interface PostgresOptions {
  url: string
  pool_max: number
  /** Maximum time of one statement. The server enforces it; if the server does not answer, the client does. */
  statement_timeout_ms: number
  /** Maximum wait for a connection, including the wait for a free one of the pool. */
  connect_timeout_ms: number
}

const idle_connection_ms = 30_000
const idle_transaction_ms = 15_000
/** By so much later than the server the client gives up, in case the server does not answer. */
const client_timeout_extra_ms = 1_000

/** A connection pool with explicit timeouts. A broken idle connection is dropped; the next query opens another. */
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
  // An idle connection that breaks would otherwise end the process. The next query sees the error.
  pool.on('error', () => {})
  // The pool removes its own listener while a connection is in use: breaking in a transaction would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
