import { restoreCrashSignals } from '@tributary/clickhouse/embedded/crash-signals'
import { forgetOrphanTokens } from '@tributary/clickhouse/embedded/dedupe-logs'
import { textLiteral } from '@tributary/clickhouse/literals'
import { Semaphore } from 'async-mutex'
import { Session, version } from 'chdb'

/** One request as ClickHouse's HTTP interface reads it. */
export interface Statement {
  sql: string
  /** Rows of an INSERT, in the format that the statement names. */
  rows: Buffer
  database: string
  /** Settings and `param_<name>`, as texts. */
  settings: ReadonlyArray<readonly [string, string]>
  format: string
}

export interface Answer {
  body: Uint8Array
  rows_read: number
  rows_written: number
  elapsed_s: number
}

export interface Engine {
  version: string
  run(statement: Statement): Promise<Answer>
}

/** Small server settings: this engine shares a machine of two cores with a whole fleet. */
const engineArguments = [
  '--max_server_memory_usage=1100000000',
  '--mark_cache_size=67108864',
  '--index_mark_cache_size=8388608',
  '--primary_index_cache_size=67108864',
  '--uncompressed_cache_size=0',
  '--background_pool_size=2',
]

/**
 * Statements run in two threads as on a server with more memory, although this engine has too little of it
 * (docs/decisions/reports.md#reports-read-in-two-threads).
 */
const ownSettings = [['max_threads_min_free_memory_per_thread', '0']] as const

/** Statements at once. Each uses a libuv thread; the launcher provides two more. */
const statements_max = 6

/**
 * Runs each statement of chdb in its own session (0.8 ms), as a server does, so that statements share no settings or
 * parameters. Tokens of inserts that a kill cut off are forgotten as in the embedded engine, since tables are plain MergeTree; the
 * Replicated family of a real server needs no repair.
 */
export async function openEngine(data_dir: string): Promise<Engine> {
  await forgetOrphanTokens(data_dir)
  // Stays open, because the engine lives only while a session is open.
  const root = new Session(data_dir, { connectionArgs: engineArguments })
  restoreCrashSignals()
  await root.queryAsync('CREATE DATABASE IF NOT EXISTS tributary')
  const places = new Semaphore(statements_max)
  return {
    version: version().libchdb,
    run: (statement) => places.runExclusive(() => runAlone(data_dir, statement)),
  }
}

async function runAlone(data_dir: string, { sql, rows, database, settings, format }: Statement): Promise<Answer> {
  const session = new Session(data_dir)
  try {
    await session.queryAsync(`USE \`${database.replaceAll('`', '')}\``)
    // Parameters come after `max_query_size`, because they may be longer than its default.
    const [params = [], plain = []] = [true, false].map((is) =>
      [...ownSettings, ...settings].filter(([name]) => /^param_/.test(name) === is),
    )
    for (const some of [plain, params]) {
      const list = some.map(([name, value]) => `${identifier(name)} = ${textLiteral(value)}`)
      if (list.length > 0) await session.queryAsync(`SET ${list.join()}`)
    }
    const insert = rows.length > 0 ? rawInsert(sql) : null
    if (insert !== null) {
      const { rowsWritten, elapsed } = await session.insert({ ...insert, values: rows })
      return { body: new Uint8Array(), rows_read: 0, rows_written: rowsWritten, elapsed_s: elapsed }
    }
    const result = await session.queryAsync(rows.length > 0 ? `${sql}\n${rows}` : sql, { format })
    return { body: result.bytes(), rows_read: result.rowsRead, rows_written: 0, elapsed_s: result.elapsed }
  } finally {
    session.close()
  }
}

function identifier(name: string): string {
  if (!/^[A-Za-z_]\w*$/.test(name)) throw new Error(`Code: 115. DB::Exception: Unknown setting. (UNKNOWN_SETTING)`)
  return name
}

/** The parts of an insert whose rows chdb takes as bytes, which saves a text of their size; null for other statements. */
function rawInsert(sql: string) {
  const shape =
    /^\s*INSERT\s+INTO\s+(?:TABLE\s+)?([\w.]+)\s*(?:\(([\w\s,]+)\))?\s*FORMAT\s+(JSONEachRow|JSONCompactEachRow)\s*$/i
  const [, table, columns, format] = shape.exec(sql) ?? []
  if (table === undefined) return null
  return {
    table,
    format: format as 'JSONEachRow' | 'JSONCompactEachRow',
    ...(columns !== undefined && { columns: columns.split(',').map((column) => column.trim()) }),
  }
}
