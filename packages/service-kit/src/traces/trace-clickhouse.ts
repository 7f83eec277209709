import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import { tableNames } from '@tributary/contracts/tables'
import { type Attributes, inSpan, type SpanStart, type Traces } from './traces.ts'

/** ClickHouse, with a span for each statement of a recorded trace; without traces the engine as it is. */
export function traceClickhouse<Engine extends Clickhouse>(clickhouse: Engine, traces: Traces | undefined): Engine {
  if (traces === undefined) return clickhouse
  return {
    ...clickhouse,
    query: <Row>(sql: string, params?: Record<string, unknown>) =>
      inSpan(
        traces,
        () => spanOf(sql),
        () => clickhouse.query<Row>(sql, params),
      ),
    stream: (sql, options) =>
      inSpan(
        traces,
        () => spanOf(sql),
        () => clickhouse.stream(sql, options),
      ),
    insert: (block) =>
      inSpan(
        traces,
        () => statementSpan('INSERT', block.table),
        () => clickhouse.insert(block),
      ),
    command: (sql, options) =>
      inSpan(
        traces,
        () => spanOf(sql),
        () => clickhouse.command(sql, options),
      ),
  }
}

/** Names the span of a server to it: ClickHouse writes its own spans of the statement into `system.opentelemetry_span_log`. */
export const traceHeaders = (traces: Traces | undefined): (() => Record<string, string>) | undefined =>
  traces === undefined
    ? undefined
    : (): Record<string, string> => {
        const span = traces.active()
        return span === undefined ? {} : { traceparent: span.traceparent }
      }

/** A statement holds ids and values, so only its first word and the name of a table that we know leave the process. */
function spanOf(sql: string): SpanStart & { attributes: Attributes } {
  const operation = /^\s*([A-Za-z]{1,16})\b/.exec(sql)?.[1]?.toUpperCase() ?? 'STATEMENT'
  const table = sql.matchAll(/\b(?:FROM|TABLE|INTO)\s+(\w+)/g).find(([, name]) => known.has(name!))?.[1]
  return statementSpan(operation, table)
}

const known: ReadonlySet<string> = new Set(tableNames)

function statementSpan(operation: string, table: string | undefined): SpanStart & { attributes: Attributes } {
  return {
    name: table === undefined ? operation : `${operation} ${table}`,
    kind: 'client',
    attributes: {
      'db.system.name': 'clickhouse',
      'db.operation.name': operation,
      ...(table === undefined ? {} : { 'db.collection.name': table }),
    },
  }
}
