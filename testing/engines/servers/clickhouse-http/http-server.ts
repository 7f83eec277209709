import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib'
import { textLiterals } from '@tributary/clickhouse/literals'
import type { Answer, Engine, Statement } from './engine.ts'

/**
 * Serves an engine over ClickHouse's HTTP interface (clickhouse.com/docs/interfaces/http), as far as Tributary uses it.
 * Without users, sessions and streamed answers: every answer behaves as with `wait_end_of_query`.
 */
export function serveEngine(engine: Engine): Server {
  const server = createServer((request, response) => {
    answer(engine, request, response).catch((error: unknown) => {
      if (!response.headersSent) answerError(engine, response, error)
      else response.destroy()
    })
  })
  server.keepAliveTimeout = 10_000
  server.requestTimeout = 0
  return server
}

async function answer(engine: Engine, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://engine')
  const body = await readBody(request)
  const form = await readForm(request, body)
  for (const [name, value] of form) searchParams.set(name, `${value}`)
  if (pathname === '/ping' || (pathname === '/' && request.method === 'GET' && !searchParams.has('query'))) {
    response.end('Ok.\n')
    return
  }
  const query_id = searchParams.get('query_id') ?? randomUUID()
  const statement = readStatement(request.method, searchParams, form.length > 0 ? Buffer.alloc(0) : body)
  response.setHeader('X-ClickHouse-Query-Id', query_id)
  response.setHeader('X-ClickHouse-Server-Display-Name', 'tributary-test-engine')
  response.setHeader('X-ClickHouse-Timezone', 'UTC')
  const done = await runNamed(engine, query_id, statement)
  response.setHeader('X-ClickHouse-Summary', summary(done))
  response.setHeader('Content-Type', 'text/plain; charset=UTF-8')
  response.end(done.body)
}

/** Query ids of the running statements: chdb's own `system.processes` does not know the ids of HTTP. */
const running = new Set<string>()

async function runNamed(engine: Engine, query_id: string, statement: Statement): Promise<Answer> {
  if (running.has(query_id)) {
    throw new Error(
      `Code: 216. DB::Exception: Query with id = ${query_id} is already running. (QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING)`,
    )
  }
  const processes = `(SELECT arrayJoin(CAST([${textLiterals(running)}], 'Array(String)')) AS query_id)`
  running.add(query_id)
  try {
    return await engine.run({ ...statement, sql: statement.sql.replaceAll('system.processes', () => processes) })
  } finally {
    running.delete(query_id)
  }
}

/** URL parameters that are not settings. The second list belongs to the HTTP layer and has no effect here. */
const notSettings = new Set(['query', 'database', 'default_format', 'query_id', 'user', 'password', 'session_id'])
const ofHttp = new Set([
  'wait_end_of_query',
  'buffer_size',
  'compress',
  'decompress',
  'enable_http_compression',
  'send_progress_in_http_headers',
  'http_headers_progress_interval_ms',
  'cancel_http_readonly_queries_on_client_close',
])

function readStatement(method: string | undefined, url: URLSearchParams, body: Buffer): Statement {
  const query = url.get('query')
  const settings = [...url].filter(([name]) => !notSettings.has(name) && !ofHttp.has(name))
  // A GET changes nothing, as on a server.
  if (method === 'GET' && !url.has('readonly')) settings.push(['readonly', '2'])
  return {
    sql: query ?? body.toString(),
    rows: query === null ? Buffer.alloc(0) : body,
    database: url.get('database') ?? 'default',
    settings,
    format: url.get('default_format') ?? 'TabSeparated',
  }
}

/** `http_max_field_value_size` of a server. */
const field_bytes_max = 128 * 1024

/** A form has the statement and its parameters, which are in the URL otherwise. */
async function readForm({ headers }: IncomingMessage, body: Buffer): Promise<[string, unknown][]> {
  const type = headers['content-type'] ?? ''
  if (!type.startsWith('multipart/form-data')) return []
  const form = [...(await new Response(Uint8Array.from(body), { headers: { 'content-type': type } }).formData())]
  if (form.some(([, value]) => Buffer.byteLength(`${value}`) > field_bytes_max)) throw new Error('Field value too long')
  return form
}

const decoders = new Map<string, (body: Buffer) => Promise<Buffer>>([
  ['gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
  ['zstd', promisify(zstdDecompress)],
])

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const body = await buffer(request)
  const encoding = request.headers['content-encoding']
  if (encoding === undefined || body.length === 0) return body
  const decode = decoders.get(encoding)
  if (decode === undefined) {
    throw new Error(`Code: 48. DB::Exception: Unknown HTTP content encoding ${encoding}. (NOT_IMPLEMENTED)`)
  }
  return decode(body)
}

const summary = ({ rows_read, rows_written, elapsed_s }: Answer): string =>
  JSON.stringify({
    read_rows: String(rows_read),
    read_bytes: '0',
    written_rows: String(rows_written),
    written_bytes: '0',
    total_rows_to_read: '0',
    result_rows: String(rows_written),
    result_bytes: '0',
    elapsed_ns: String(Math.round(elapsed_s * 1e9)),
  })

/** HTTP statuses of a server by error code; 500 for all others. */
const statuses: Record<string, number> = { '60': 404, '62': 400, '81': 404, '159': 408, '164': 403 }

function answerError(engine: Engine, response: ServerResponse, error: unknown): void {
  const text = error instanceof Error ? error.message : String(error)
  const [, code = '1002'] = /\bCode: (\d+)\./.exec(text) ?? []
  const shaped = text.startsWith('Code: ') ? text : `Code: ${code}. DB::Exception: ${text} (UNKNOWN_EXCEPTION)`
  response.statusCode = statuses[code] ?? 500
  response.setHeader('X-ClickHouse-Exception-Code', code)
  response.setHeader('Content-Type', 'text/plain; charset=UTF-8')
  response.end(`${shaped} (version ${engine.version} (tributary test engine))\n`)
}
