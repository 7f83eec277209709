import { appendFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { RecordedStatement } from '@tributary/clickhouse/schema/statements'
import { wordsOf } from './words.ts'

const root = join(import.meta.dirname, '..', '..')
/** Words that were noted of each file. */
const known = new Map<string, Set<string>>()

/**
 * The engine, which notes statements with words that its file has not sent before in the folder of `TRIBUTARY_RECORD_STATEMENTS`
 * (`npm run statements`); as it was without that setting.
 */
export function recording(clickhouse: Clickhouse): Clickhouse {
  const folder = process.env.TRIBUTARY_RECORD_STATEMENTS
  if (!folder) return clickhouse
  const note = (statement: Omit<RecordedStatement, 'by'>) => {
    const by = senderOf(new Error('who sends it?').stack ?? '')
    if (by === null) return
    const words = known.get(by) ?? new Set()
    const own = wordsOf(statement)
    if (own.isSubsetOf(words)) return
    known.set(by, words.union(own))
    appendFileSync(join(folder, `${process.pid}.jsonl`), `${JSON.stringify({ by, ...statement })}\n`)
  }
  return {
    ...clickhouse,
    query(sql, params) {
      note({ kind: 'query', sql, ...(params && { params }) })
      return clickhouse.query(sql, params)
    },
    stream(sql, options) {
      note({ kind: 'stream', sql })
      return clickhouse.stream(sql, options)
    },
    insert(block) {
      const [row = ''] = String(block.lines).split('\n')
      note({ kind: 'insert', sql: `INSERT INTO ${block.table} (${block.columns.join(', ')})`, row })
      return clickhouse.insert(block)
    },
    command(sql, options) {
      note({ kind: 'command', sql })
      return clickhouse.command(sql, options)
    },
  }
}

/** Files that only pass on what others send. */
const passing =
  /(test-clickhouse|record|statement-limits|query-page|insert-select|insert-rows|insert-divided|mutate)\.ts$/

/** The file of the product that the call comes from; null for a test and its helpers. */
function senderOf(stack: string): string | null {
  const files = [...stack.matchAll(/file:\/\/([^:)]+\.ts)/g)].map(([, path]) => relative(root, path ?? ''))
  const sender = files.find((path) => !passing.test(path))
  // The migrator makes the tables in any case.
  if (sender?.endsWith('schema/migrate.ts')) return null
  return sender !== undefined && /^(packages|services)\/(?!.*\/test\/)/.test(sender) ? sender : null
}
