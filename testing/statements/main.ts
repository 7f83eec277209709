import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type RecordedStatement, readStatements, statements_file } from '@tributary/clickhouse/schema/statements'
import { coveringOf, wordsOf } from './words.ts'

const help = `npm run statements [-- --check | --from FOLDER]

Runs the tests with an embedded ClickHouse, and writes statements that the product sends to it to clickhouse/statements.jsonl,
which \`tributary doctor --clickhouse\` tries on a server: of each file as few as have all the tables, columns, functions and
settings that it names. --from takes what a run of all tests left in the folder that
TRIBUTARY_RECORD_STATEMENTS named. --check writes nothing, and ends with 1 where a word of a file is not there.`

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

/** What was recorded, by the file that sent it. */
function readRecorded(folder: string): Map<string, RecordedStatement[]> {
  const lines = readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'))
  return Map.groupBy(
    lines.map((line) => JSON.parse(line) as RecordedStatement),
    ({ by }) => by,
  )
}

function write(folder: string): void {
  const kept = [...readRecorded(folder)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, some]) => coveringOf(some))
  writeFileSync(statements_file, kept.map((statement) => `${JSON.stringify(statement)}\n`).join(''))
  console.info(`${kept.length} statements in ${statements_file}`)
}

function check(folder: string): void {
  const known = Map.groupBy(readStatements(), ({ by }) => by)
  for (const [by, some] of readRecorded(folder)) {
    const words = (of: readonly RecordedStatement[]) => new Set(of.flatMap((one) => [...wordsOf(one)]))
    const missing = words(some).difference(words(known.get(by) ?? []))
    if (missing.size === 0) continue
    console.error(`NOT RECORDED: ${by}: ${[...missing].join(', ')}`)
    process.exitCode = 1
  }
}
