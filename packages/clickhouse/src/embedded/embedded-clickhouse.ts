import { join } from 'node:path'
import { createClient } from '@clickhouse/client'
import { type ChdbResult, drainPending, Session } from 'chdb'
import { createChdbConnection } from 'chdb/connection'
import { type Clickhouse, statement_bytes_max } from '../clickhouse.ts'
import { insertSettings } from '../insert-settings.ts'
import { querySettings, settingsSql } from '../settings-sql.ts'
import { type EngineStuck, type WatchedRun, watchCalls } from './call-watch.ts'
import { restoreCrashSignals } from './crash-signals.ts'
import { forgetBrokenTokens, forgetOrphanTokens, keepFolders } from './dedupe-logs.ts'
import { openSessionPool } from './session-pool.ts'
import { answerFiles } from './stream-answer.ts'

export interface EmbeddedOptions {
  /** Belongs to the one engine that has it open: the caller sees to that, chdb takes no lock. */
  data_dir: string
  logger?: { info(fields: object, message: string): void }
  /**
   * Called when the engine stands still. Only the end of the process cures that: no call can be ended, and exit hooks of chdb
   * wait for it as well. Afterwards all waiting and later calls reject with `EngineStuck`
   * (docs/decisions/running.md#a-process-whose-engine-stands-still-is-ended).
   */
  onStuck?(error: EngineStuck): void
}

/**
 * Server settings, which chdb takes as arguments of the first connection only. Defaults are made for a machine of its
 * own (a mark cache of 5 GB); here the whole process aims at 1.5 GB.
 */
const engineArguments = [
  '--max_server_memory_usage=1100000000',
  '--mark_cache_size=67108864',
  '--index_mark_cache_size=8388608',
  '--primary_index_cache_size=67108864',
  '--uncompressed_cache_size=0',
  '--index_uncompressed_cache_size=0',
  '--query_condition_cache_size=16777216',
  '--compiled_expression_cache_size=16777216',
  '--background_pool_size=2',
  // Pauses until a delete or a merge that found the background pool full tries again: by default 0.1 to 1.1 s, in which the delete
  // holds a session.
  '--background_processing_pool_thread_sleep_seconds_if_nothing_to_do=0.1',
  '--background_processing_pool_task_sleep_seconds_when_no_work_random_part=0.1',
  // Settings of tables are not taken as arguments.
  `--config-file=${join(import.meta.dirname, 'embedded-engine.xml')}`,
]

/**
 * Settings of every session. A statement reads in one thread unless it asks for two, as those of reports do; by default the engine would
 * use a thread only where 1 GiB of memory is free for it (docs/decisions/reports.md#reports-read-in-two-threads). Threads that write the
 * answer cost a small statement 0.3 to 0.7 ms.
 */
const common = settingsSql({
  ...querySettings,
  max_query_size: statement_bytes_max,
  compile_expressions: 0,
  output_format_parallel_formatting: 0,
  max_threads: 1,
  max_threads_min_free_memory_per_thread: 0,
})
/** What a question of a client may cost; on the write side only the look-ups of our own consumers run. */
const guarded =
  'max_execution_time = 20, max_memory_usage = 600000000, max_bytes_before_external_group_by = 200000000, ' +
  'max_bytes_before_external_sort = 200000000, max_bytes_ratio_before_external_sort = 0, readonly = 2'

/** A streamed answer may be larger than what the memory of the process holds. */
const streamed =
  'max_memory_usage = 300000000, output_format_json_quote_64bit_integers = 0, engine_file_truncate_on_insert = 1'

const minute_ms = 60_000
/**
 * Maximum times of calls of the engine, far above what any call takes
 * (docs/decisions/running.md#a-process-whose-engine-stands-still-is-ended). The engine itself ends queries of reports after 20 s; on a
 * server the longest statement may take 10 minutes.
 */
const question_ms_max = 5 * minute_ms
const insert_ms_max = 15 * minute_ms
const command_ms_max = 60 * minute_ms
/** Maximum time of a close, with the statements that still run. A service that stops ends sooner. */
const close_ms_max = 2 * minute_ms

/** Bytes of an insert that does not wait in the line of the large ones. */
const short_insert_bytes_max = 256 * 1024

/**
 * ClickHouse in this process (chdb), database `tributary`. A session runs one statement at a time, so there are four:
 * one for parameterised questions, which chdb runs one by one anyway, two for inserts, DDL and look-ups, where what is
 * short takes turns with large inserts, and one for streamed answers, which take long. Each running statement holds a thread of libuv's pool. With
 * the four threads that Node has by default, statements of more sessions than three stood still for ever. tools/bootstrap.mjs sets 16 threads.
 */
export async function openEmbeddedClickhouse({
  data_dir,
  logger,
  onStuck = () => {},
}: EmbeddedOptions): Promise<Clickhouse> {
  const started = performance.now()
  const watched = watchCalls(onStuck)
  const orphans = await forgetOrphanTokens(data_dir)
  const before = await keepFolders(data_dir, orphans.folders)
  const { chdb, engine, sessions } = await openEngine(data_dir, watched)
  const reads = openSessionPool(sessions.slice(0, 1))
  const writes = openSessionPool(sessions.slice(1, 3))
  const streams = openSessionPool(sessions.slice(3))
  const files = answerFiles(data_dir)
  /** Names of the inserts that wait for a session or run: a consumer of this process may repeat what another has begun. */
  const inserting: string[] = []
  const asInsert = async (name: string, insert: Promise<void>) => {
    inserting.push(name)
    try {
      await insert
    } finally {
      inserting.splice(inserting.indexOf(name), 1)
    }
  }
  const clickhouse: Clickhouse = {
    async query<Row>(sql: string, params?: Record<string, unknown>) {
      const [sessions, ms_max] = params === undefined ? [writes, insert_ms_max] : [reads, question_ms_max]
      const ask = async ({ client }: EngineSession) => {
        const result = await client.query({
          query: sql,
          format: 'JSONEachRow',
          ...(params && { query_params: params }),
        })
        return result.json<Row>()
      }
      return sessions.run((session) => watched('a query', ms_max, () => ask(session)), true)
    },
    stream: (sql, { format, signal }) =>
      files.stream(
        (file) =>
          streams.run(async ({ client }) => {
            signal.throwIfAborted()
            const query = `INSERT INTO ${file} ${sql}`
            await watched('a streamed answer', command_ms_max, () => client.command({ query }))
          }),
        format,
      ),
    insert({ table, columns, lines, token }) {
      const insert = writes.run(async ({ connection }) => {
        const values = typeof lines === 'string' ? Buffer.from(lines) : lines
        const settings = { ...insertSettings, insert_deduplication_token: token }
        const block = { table, columns, settings, format: 'JSONCompactEachRow', values } as const
        await watched(`an insert into ${table}`, insert_ms_max, () => connection.chdb.rawInsert(block))
      }, lines.length <= short_insert_bytes_max)
      return asInsert(token, insert)
    },
    // No other process has this engine.
    isInserting: async (prefix) => inserting.some((name) => name.startsWith(prefix)),
    command(sql, { name = '' } = {}) {
      const command = writes.run(async ({ client }) => {
        await watched('a command', command_ms_max, () => client.command({ query: sql }))
      })
      return asInsert(name, command)
    },
    async checkHealth() {
      await watched('a look at its health', question_ms_max, () => chdb.queryAsync('SELECT 1'))
    },
    close: () => closeEngine(chdb, [...reads.close(), ...writes.close(), ...streams.close()], watched),
  }
  const broken = await forgetBrokenTokens(clickhouse, data_dir, before).catch(async (error) => {
    await clickhouse.close()
    throw error
  })
  const forgotten_tokens = orphans.forgotten + broken.forgotten
  const open_ms = Math.round(performance.now() - started)
  logger?.info({ engine, forgotten_tokens, covered_parts: broken.covered, open_ms }, 'clickhouse engine open')
  return clickhouse
}

/** The engine, and its sessions: the first one for reads. Leaves nothing open when a step fails. */
async function openEngine(data_dir: string, watched: WatchedRun) {
  const chdb = new Session(data_dir, { connectionArgs: engineArguments })
  restoreCrashSignals()
  const open = (call: () => Promise<ChdbResult>) => watched('its start', insert_ms_max, call)
  const sessions: EngineSession[] = []
  try {
    await open(() => chdb.queryAsync('CREATE DATABASE IF NOT EXISTS tributary'))
    const version = await open(() => chdb.queryAsync('SELECT version()', { format: 'TabSeparated' }))
    for (const settings of [
      `SET ${common}, ${guarded}`,
      `SET ${common}`,
      `SET ${common}`,
      `SET ${common}, ${streamed}`,
    ]) {
      const session = newSession(data_dir)
      sessions.push(session)
      await open(() => session.connection.chdb.queryAsync('USE tributary'))
      await open(() => session.connection.chdb.queryAsync(settings))
    }
    return { chdb, engine: version.text().trim(), sessions }
  } catch (error) {
    await closeEngine(chdb, sessions, watched)
    throw error
  }
}

/** Statements in hand go on to their end. An engine that stands still stays open: sessions close in the thread of all JavaScript. */
function closeEngine(chdb: Session, sessions: readonly EngineSession[], watched: WatchedRun): Promise<void> {
  return watched('its close', close_ms_max, async () => {
    await drainPending()
    for (const { client } of sessions) await client.close()
    chdb.close()
    await drainPending()
  })
}

type EngineSession = ReturnType<typeof newSession>
type ClientOptions = NonNullable<Parameters<typeof createClient>[0]>

function newSession(path: string) {
  const connection = createChdbConnection({ path })
  // Both sides declare the hook with types of their own; only settings that neither passes on differ.
  const client = createClient({ connection: connection as unknown as NonNullable<ClientOptions['connection']> })
  return { connection, client }
}
