import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type RecordedStatement, readStatements, statements_file } from '@tributary/clickhouse/schema/statements'
import { formOf } from './form.ts'

const help = `npm run statements [-- --from FOLDER]

Runs the tests with an embedded ClickHouse, and writes each form of statement that the product sends to it, once, to
clickhouse/statements.jsonl, which \`tributary doctor --clickhouse\` tries on a server. A form that stands there already keeps
its line; one that no test sends any more leaves. --from takes what a run of all tests left in the folder that
TRIBUTARY_RECORD_STATEMENTS named.`

const { values } = parseArgs({ options: { from: { type: 'string' }, help: { type: 'boolean' } } })
if (values.help) console.info(help)
else if (values.from !== undefined) write(values.from)
else await record()

async function record(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-statements-'))
  try {
    const env = { ...process.env, TRIBUTARY_RECORD_STATEMENTS: folder }
    const args = [join('tools', 'test.ts'), '--project', 'clickhouse', '--project', 'service']
    const tests = spawn(process.execPath, args, { stdio: 'inherit', env })
    const [code] = await once(tests, 'close')
    if (code !== 0) throw new Error('Tests failed: the statements may lack some. Nothing was written.')
    write(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function write(folder: string): void {
  const lines = readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'))
  const recorded = lines.map((line) => JSON.parse(line) as RecordedStatement)
  const before = new Map(readStatements().map((statement) => [formOf(statement), statement]))
  const found = new Map<string, RecordedStatement>()
  for (const statement of recorded) {
    const form = formOf(statement)
    const shortest = found.get(form)
    if (shortest === undefined || statement.sql.length < shortest.sql.length) found.set(form, statement)
  }
  const kept = [...found].map(([form, statement]) => ({ ...(before.get(form) ?? statement), by: statement.by }))
  const inOrder = kept.toSorted((a, b) => (a.by + formOf(a) < b.by + formOf(b) ? -1 : 1))
  writeFileSync(statements_file, inOrder.map((statement) => `${JSON.stringify(statement)}\n`).join(''))
  console.info(`${inOrder.length} forms of statements in ${statements_file}`)
}
