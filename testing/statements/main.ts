import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type RecordedStatement, readStatements, statements_file } from '@tributary/clickhouse/schema/statements'
import { formOf } from './form.ts'

const help = `npm run statements [-- --check | --from FOLDER]

Runs the tests with an embedded ClickHouse, and writes each form of statement that the product sends to it, once, to
clickhouse/statements.jsonl, which \`tributary doctor --clickhouse\` tries on a server. A form that stands there already keeps
its line; one that no test sends any more leaves. --from takes what a run of all tests left in the folder that
TRIBUTARY_RECORD_STATEMENTS named. --check writes nothing, and ends with 1 where a form is not in the file.`

const { values } = parseArgs({
  options: { from: { type: 'string' }, check: { type: 'boolean' }, help: { type: 'boolean' } },
})
if (values.help) console.info(help)
else if (values.from !== undefined) write(values.from)
else await recordInto(values.check ? check : write)

async function recordInto(take: (folder: string) => void): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-statements-'))
  try {
    const env = { ...process.env, TRIBUTARY_RECORD_STATEMENTS: folder }
    const args = [join('tools', 'test.ts'), '--project', 'clickhouse', '--project', 'service']
    const tests = spawn(process.execPath, args, { stdio: 'inherit', env })
    const [code] = await once(tests, 'close')
    if (code !== 0) throw new Error('Tests failed: the statements may lack some. Nothing was written.')
    take(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The shortest statement of each form that was recorded. */
function readRecorded(folder: string): Map<string, RecordedStatement> {
  const lines = readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'))
  const found = new Map<string, RecordedStatement>()
  for (const line of lines) {
    const statement = JSON.parse(line) as RecordedStatement
    const form = formOf(statement)
    const shortest = found.get(form)
    if (shortest === undefined || statement.sql.length < shortest.sql.length) found.set(form, statement)
  }
  return found
}

const byForm = () => new Map(readStatements().map((statement) => [formOf(statement), statement]))

function write(folder: string): void {
  const before = byForm()
  const kept = [...readRecorded(folder)].map(([form, statement]) => ({
    ...(before.get(form) ?? statement),
    by: statement.by,
  }))
  const inOrder = kept.toSorted((a, b) => (a.by + formOf(a) < b.by + formOf(b) ? -1 : 1))
  writeFileSync(statements_file, inOrder.map((statement) => `${JSON.stringify(statement)}\n`).join(''))
  console.info(`${inOrder.length} forms of statements in ${statements_file}`)
}

function check(folder: string): void {
  const known = byForm()
  const unknown = [...readRecorded(folder)].filter(([form]) => !known.has(form))
  for (const [form, { by }] of unknown) console.error(`NOT RECORDED: ${by}: ${form}`)
  if (unknown.length > 0) process.exitCode = 1
}
