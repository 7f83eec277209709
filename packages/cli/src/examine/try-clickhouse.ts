import { randomBytes } from 'node:crypto'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { textLiteral } from '@tributary/clickhouse/literals'
import { migrateClickhouse } from '@tributary/clickhouse/schema/migrate'
import { type RecordedStatement, readStatements } from '@tributary/clickhouse/schema/statements'
import { clickhouseSettings, openClickhouse } from '@tributary/service-kit/resources/clickhouse'
import type { Service } from '@tributary/service-kit/service/run-service'
import { findDifferences } from '@tributary/tables/repair/compare-tables'
import { readEngineSettings } from '../config.ts'
import { withService } from '../engines/brief-service.ts'
import { type Check, failed, passed } from './check.ts'

/** Of the databases that it makes. */
const prefix = 'tributary_doctor_'
/** DDL on a cluster waits for all of its servers. */
const statement_ms_min = 200_000

const help = {
  make: 'Give the user of TRIBUTARY_CLICKHOUSE_URL the rights of migrator (clickhouse/roles.sql), and CREATE and DROP DATABASE.',
  schema: 'Use ClickHouse 26.7 or newer, and see docs/operations.md.',
  statement: 'This server does not take what Tributary sends. See docs/operations.md, and report it with the version.',
  once: 'Events would be lost or counted twice: do not use this server.',
}

/**
 * Makes the tables in a database of its own, sends the recorded statements (`clickhouse/statements.jsonl`), tries that a repeated insert counts once in each table, and drops the database. Rows are those of tests. Touches nothing else.
 */
export function tryClickhouse(statements: readonly RecordedStatement[] = readStatements()): Promise<Check[]> {
  const names = [...clickhouseSettings, 'TRIBUTARY_CLICKHOUSE_REPLICATED', 'TRIBUTARY_CLICKHOUSE_CLUSTER'] as const
  const config = readEngineSettings(names, ['TRIBUTARY_CLICKHOUSE_URL'])
  const { TRIBUTARY_CLICKHOUSE_REPLICATED: replicated, TRIBUTARY_CLICKHOUSE_CLUSTER: on_cluster } = config
  const patient = {
    ...config,
    TRIBUTARY_CLICKHOUSE_QUERY_TIMEOUT_MS: Math.max(config.TRIBUTARY_CLICKHOUSE_QUERY_TIMEOUT_MS, statement_ms_min),
  }
  const open = (database: string, service: Service) => {
    const url = new URL(config.TRIBUTARY_CLICKHOUSE_URL)
    url.pathname = `/${database}`
    const there = { ...patient, TRIBUTARY_CLICKHOUSE_URL: url.href }
    return openClickhouse(there, service, { complete_reads: true })
  }
  const parameters = { replicated, ...(on_cluster !== undefined && { on_cluster }) }
  return withService(async (service) => {
    const server = await open('system', service)
    const database = `${prefix}${randomBytes(6).toString('hex')}`
    const everywhere = on_cluster === undefined ? '' : ` ON CLUSTER ${textLiteral(on_cluster)}`
    const version = await server.query<{ version: string }>('SELECT version() AS version')
    const found = `ClickHouse ${version[0]?.version}`
    const checks = await findLeft(server)
    try {
      await server.command(`CREATE DATABASE ${database}${everywhere}`)
      checks.push(...(await tryIn(() => open(database, service), parameters, statements, found)))
    } catch (error) {
      checks.push(failed('clickhouse', `${found}: ${errorText(error)}`, help.make))
    }
    const drop = `DROP DATABASE IF EXISTS ${database}${everywhere} SYNC`
    const dropped = await server.command(drop).then(() => null, errorText)
    if (dropped !== null) checks.push(failed('clickhouse', `${database} may still be there: ${dropped}`, drop))
    return checks
  })
}

/** Databases of runs that were killed. */
async function findLeft(server: Clickhouse): Promise<Check[]> {
  const left = await server.query<{ name: string }>(
    `SELECT name FROM system.databases WHERE startsWith(name, ${textLiteral(prefix)}) ORDER BY name`,
  )
  return left.map(({ name }) =>
    failed(
      'clickhouse',
      `${name} is left of a run that was killed, or of one that is under way`,
      `DROP DATABASE ${name}`,
    ),
  )
}

async function tryIn(
  openScratch: () => Promise<Clickhouse>,
  parameters: Parameters<typeof migrateClickhouse>[0]['parameters'] & {},
  statements: readonly RecordedStatement[],
  found: string,
): Promise<Check[]> {
  try {
    const clickhouse = await openScratch()
    const made = await migrateClickhouse({ clickhouse, parameters })
    return [
      passed('clickhouse schema', `${found}, ${made.length} migrations`),
      // First, on fresh tables: recorded statements also delete and change rows.
      await tryTwice(clickhouse, statements),
      ...(await trySending(clickhouse, statements)),
    ]
  } catch (error) {
    return [failed('clickhouse schema', `${found}: ${errorText(error)}`, help.schema)]
  }
}

async function trySending(clickhouse: Clickhouse, statements: readonly RecordedStatement[]): Promise<Check[]> {
  const refused: Check[] = []
  for (const [n, statement] of statements.entries()) {
    const error = await send(clickhouse, statement, `doctor/${n}`).then(() => null, errorText)
    const shown = statement.sql.replaceAll(/\s+/g, ' ').trim().slice(0, 160)
    if (error !== null) refused.push(failed(`clickhouse: ${statement.by}`, `${shown}: ${error}`, help.statement))
  }
  if (refused.length > 0) return refused
  return [passed('clickhouse statements', `all ${statements.length} that are recorded`)]
}

async function send(clickhouse: Clickhouse, { kind, sql, params, row = '' }: RecordedStatement, token: string) {
  if (kind === 'query') return clickhouse.query(sql, params)
  if (kind === 'command') return clickhouse.command(sql)
  if (kind === 'insert') return clickhouse.insert({ ...blockOf(sql), lines: row, token })
  const stream = await clickhouse.stream(sql, { format: 'JSONEachRow', signal: AbortSignal.timeout(statement_ms_min) })
  for await (const _part of stream);
}

function blockOf(sql: string): { table: string; columns: string[] } {
  const [, table = '', columns = ''] = /^INSERT INTO (\w+) \((.*)\)$/.exec(sql) ?? []
  return { table, columns: columns.split(', ') }
}

/** Inserts an event twice under one token: it has to be there once, in its table and in all that views make of it. */
async function tryTwice(clickhouse: Clickhouse, statements: readonly RecordedStatement[]): Promise<Check> {
  const name = 'clickhouse exactly once'
  const event = statements.find(({ kind, sql }) => kind === 'insert' && sql.startsWith('INSERT INTO events_raw_v1 '))
  if (event === undefined) throw new Error('clickhouse/statements.jsonl has no insert of events')
  const count = async () => {
    const [row] = await clickhouse.query<{ rows: number }>('SELECT toUInt32(count()) AS rows FROM events_raw_v1')
    return row?.rows ?? 0
  }
  try {
    for (let times = 0; times < 2; times += 1) await send(clickhouse, event, 'doctor/once')
    const rows = await count()
    if (rows !== 1) return failed(name, `an insert that was repeated left ${rows} rows in events_raw_v1`, help.once)
    const differing = await findDifferences(clickhouse, [])
    const [first] = differing
    if (first === undefined) return passed(name, 'a repeated insert counts once, in its table and behind each view')
    return failed(name, `${first.table} counts ${first.counted} instead of ${first.expected}`, help.once)
  } catch (error) {
    return failed(name, errorText(error), help.once)
  }
}

/** What the engine says, in one line. */
const errorText = (error: unknown): string => String((error as Error)?.message ?? error).split('\n')[0] ?? ''
