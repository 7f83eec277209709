import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A statement that a service or a command sends, with values of a test (`npm run statements`). */
export interface RecordedStatement {
  /** The file that sends it. */
  by: string
  kind: 'query' | 'stream' | 'command' | 'insert'
  /** An insert has its rows apart. */
  sql: string
  /** Of a query. */
  params?: Record<string, unknown>
  /** The first row of an insert, a line of JSONCompactEachRow. */
  row?: string
}

export const statements_file = join(import.meta.dirname, '..', '..', '..', '..', 'clickhouse', 'statements.jsonl')

/** Reads statements that services send: those of a file have all the tables, columns, functions and settings that it names. */
export const readStatements = (): RecordedStatement[] =>
  readFileSync(statements_file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as RecordedStatement)
