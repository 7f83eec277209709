import { appendFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Clickhouse } from '@tributary/clickhouse/clickhouse'
import type { RecordedStatement } from '@tributary/clickhouse/schema/statements'
import { formOf } from './form.ts'

const root = join(import.meta.dirname, '..', '..')
const known = new Set<string>()

/**
 * The engine, which notes each form of statement that the product sends in the folder of `TRIBUTARY_RECORD_STATEMENTS`
 * (`npm run statements`); as it was without that setting.
 */
export function recording(clickhouse: Clickhouse): Clickhouse {
  const folder = process.env.TRIBUTARY_RECORD_STATEMENTS
  if (!folder) return clickhouse
  const note = (statement: Omit<RecordedStatement, 'by'>) => {
    const by = senderOf(new Error('who sends it?').stack ?? '')
    const form = formOf(statement)
    if (by === null || known.has(form)) return
    known.add(form)
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
const passing = /(test-clickhouse|record|statement-limits|insert-rows|insert-divided|mutate)\.ts$/

/** The file of the product that the call comes from; null for a test and its helpers. */
function senderOf(stack: string): string | null {
  const files = [...stack.matchAll(/file:\/\/([^:)]+\.ts)/g)].map(([, path]) => relative(root, path ?? ''))
  const sender = files.find((path) => !passing.test(path))
  return sender !== undefined && /^(packages|services)\/(?!.*\/test\/)/.test(sender) ? sender : null
}
