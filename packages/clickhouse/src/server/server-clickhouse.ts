import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { ClickHouseLogLevel, createClient } from '@clickhouse/client'
import { type Clickhouse, statement_bytes_max } from '../clickhouse.ts'
import { insertSettings } from '../insert-settings.ts'
import { querySettings } from '../settings-sql.ts'
import { replicaSync } from './replica-sync.ts'
import { isAnyInserting } from './running-inserts.ts'
import { serverAgent } from './server-agent.ts'
import { compressRows } from './server-body.ts'
import { toServerError } from './server-errors.ts'
import { streamAnswer } from './stream-answer.ts'

export interface ServerOptions {
  /** `http://host:8123` or `https://host:8443`. */
  url: string
  username?: string
  password?: string
  /** Must exist (clickhouse/roles.sql makes it); `tributary` by default. */
  database?: string
  connect_timeout_ms: number
  /** Maximum time of one call, waiting for a connection included. */
  query_timeout_ms: number
  /** More calls at once wait for their turn. */
  max_open_connections: number
  /** Each question sees all that any replica has acknowledged, as look-ups of a consumer must. False by default. */
  complete_reads?: boolean
  /** Headers of each statement, which name its trace. */
  traceHeaders?: (() => Record<string, string>) | undefined
  logger?: { info(fields: object, message: string): void; warn(fields: object, message: string): void }
}

/** An idle socket ends before the server ends it (after 3 s in old versions): a request could meet the end. */
const idle_socket_ms = 2500
/** Maximum time of an insert that is tried again: a busy server takes long, and early ends would never stop. */
const insert_ms_max = 600_000

/**
 * ClickHouse over HTTP. Throws for wrong credentials or an unknown database; a server that is away is only logged, since
 * it comes back without us. Calls throw CodedError `unavailable` for what passes by itself, else the engine's error.
 */
export async function openClickhouseServer(options: ServerOptions): Promise<Clickhouse> {
  const { url, database = 'tributary', query_timeout_ms, traceHeaders, logger } = options
  const agent = serverAgent(options)
  const client = createClient({
    url,
    username: options.username ?? 'default',
    password: options.password ?? '',
    database,
    http_agent: agent,
    max_open_connections: options.max_open_connections,
    // Each call has a deadline of its own.
    request_timeout: insert_ms_max,
    // Long lists of a statement go into its body, since a URL is short.
    use_multipart_params_auto: true,
    keep_alive: { enabled: true, idle_socket_ttl: idle_socket_ms },
    compression: { request: false, response: false },
    // Callers get the error and log it with what they know.
    log: { level: ClickHouseLogLevel.OFF },
    clickhouse_settings: {
      max_query_size: `${statement_bytes_max}`,
      // The whole answer or an error as status: never an error in the midst of rows.
      wait_end_of_query: 1,
    },
  })
  let closed = false

  async function run<Result>(
    call: (abort_signal: AbortSignal) => Promise<Result>,
    timeout_ms = query_timeout_ms,
  ): Promise<Result> {
    if (closed) throw new Error('ClickHouse is closed')
    try {
      return await call(AbortSignal.timeout(timeout_ms))
    } catch (error) {
      throw closed ? new Error('ClickHouse is closed', { cause: error }) : toServerError(error)
    }
  }

  const syncAlways = replicaSync(client, query_timeout_ms)
  const syncReplicas = options.complete_reads ? syncAlways : undefined
  const query = <Row>(sql: string, params?: Record<string, unknown>): Promise<Row[]> =>
    run(async (abort_signal) => {
      const synced = await syncReplicas?.(sql, abort_signal)
      const result = await client.query({
        query: sql,
        format: 'JSONEachRow',
        abort_signal,
        ...tracedBy(traceHeaders),
        clickhouse_settings: readSettings(query_timeout_ms),
        ...(params && { query_params: params }),
      })
      // The client's own use of the signal ends with the head of the answer.
      abort_signal.addEventListener('abort', () => result.close(), { once: true })
      const rows = await result.json<Row>()
      synced?.requireSameServer(result.response_headers)
      return rows
    })
  const clickhouse: Clickhouse = {
    query,
    stream: (sql, asked) =>
      run(async (abort_signal) => {
        const synced = await syncAlways(sql, abort_signal)
        const { stream, headers } = await streamAnswer(client, sql, { ...asked, ...tracedBy(traceHeaders) })
        synced.requireSameServer(headers)
        return stream
      }, insert_ms_max),
    insert: ({ table, columns, lines, token, attempt = 1 }) =>
      run(
        async (abort_signal) => {
          const { body, headers } = await compressRows(lines)
          const { stream } = await client.exec({
            query: `INSERT INTO ${table} (${columns.join(', ')}) FORMAT JSONCompactEachRow`,
            values: Readable.from([body]),
            // Names the insert for `isInserting`; two of the same name the server would not run at once.
            query_id: `${token}/${randomUUID()}`,
            abort_signal,
            http_headers: { ...traceHeaders?.(), ...headers },
            clickhouse_settings: { ...insertTexts, insert_deduplication_token: token },
          })
          await buffer(stream)
        },
        Math.min(insert_ms_max, query_timeout_ms * 2 ** (attempt - 1)),
      ),
    isInserting: (token_prefix) => run(() => isAnyInserting(query, token_prefix)),
    command(sql, { name, attempt = 1 } = {}) {
      const timeout_ms = Math.min(insert_ms_max, query_timeout_ms * 2 ** (attempt - 1))
      return run(async (abort_signal) => {
        const named = name !== undefined && { query_id: `${name}/${randomUUID()}` }
        // A server goes on with what its client gave up, and statements that are tried again would pile up there.
        const clickhouse_settings = { max_execution_time: Math.ceil(timeout_ms / 1000) }
        await client.command({ query: sql, abort_signal, clickhouse_settings, ...named, ...tracedBy(traceHeaders) })
      }, timeout_ms)
    },
    async checkHealth() {
      await query('SELECT 1')
    },
    async close() {
      closed = true
      await client.close()
      agent.destroy()
    },
  }
  try {
    const [server] = await query<{ version: string }>('SELECT version() AS version')
    logger?.info({ url, database, engine: server?.version }, 'clickhouse server reached')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'unavailable')) {
      await clickhouse.close()
      throw error
    }
    logger?.warn({ url, err: error }, 'clickhouse server is away')
  }
  return clickhouse
}

const tracedBy = (traceHeaders: ServerOptions['traceHeaders']) =>
  traceHeaders === undefined ? {} : { http_headers: traceHeaders() }

/** Values as they stand in a URL. */
const insertTexts = Object.fromEntries(Object.entries(insertSettings).map(([name, value]) => [name, String(value)]))

/** Settings of every query. The profile of the user bounds its memory (roles.sql). */
const readSettings = (query_timeout_ms: number) => ({
  readonly: '2' as const,
  max_execution_time: Math.ceil(query_timeout_ms / 1000),
  cancel_http_readonly_queries_on_client_close: 1 as const,
  ...querySettings,
})
