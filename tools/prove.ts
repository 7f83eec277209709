import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const help = `npm run prove -- [options]

Proves at length what npm test proves once. Without options it runs the tests of the ring "prove" (about eight minutes): attacks, fuzz, a
soak with kill -9 of all services, a rolling upgrade, the loss of ClickHouse and of PostgreSQL, long histories of logs, the packed client,
the compose file. Only --night runs Schemathesis.

  --short    the ring without what takes longest, as in CI: two thirds of the attacks, long histories of logs, the orders of arrival, lost
             stores, and Helm (four minutes)
  --without-history
             leaves out the rolling upgrade, which starts the version before out of the history of this checkout
  --saved    replays saved histories: every answer of the product must be the same (ten minutes)
  --mutants  breaks each rule once and looks whether a test of it fails (minutes)
  --night    all of this in its full length, more rounds of properties, and 1000 random histories (hours)

Exit code 1 when something was not proved.`

const { values } = parseArgs({
  options: {
    mutants: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
    'without-history': { type: 'boolean', default: false },
    saved: { type: 'boolean', default: false },
    night: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const root = join(import.meta.dirname, '..')
type Program = readonly [file: string, ...args: string[]]
const files: Program = ['tools/test.ts', '--project', 'prove']
const without = (...patterns: string[]) => patterns.flatMap((pattern) => ['--exclude', pattern])
/** One at a time: they measure what the victim waits for, and another file beside them would be one more attacker. */
const attacks: Program = [...files, 'testing/test/attacks/attack-', '--maxWorkers', '1']
const upgrade = values['without-history'] ? ['**/rolling-upgrade*'] : []
/** Schemathesis takes minutes for few answers that fuzz does not see. Three files at once, most with a fleet each, would wait for the machine. */
const others: Program = [...files, ...without('**/attack-*', '**/schemathesis*', ...upgrade), '--maxWorkers', '2']
const ring = [attacks, others]
/** Without the files that take longest. */
const short = [
  [...attacks, ...without('**/attack-2*', '**/attack-3*')],
  [...others, ...without('**/orders*', '**/rehearse*', '**/helm*', '**/event-writer/**')],
] as const
const schemathesis: Program = ['tools/test.ts', '--project', 'prove', 'schemathesis']
const mutants: Program = ['testing/mutants/main.ts']
/** Properties, in more rounds than in `npm test`. */
const properties: Program = ['tools/test.ts', '--project', 'domain', '--project', 'clickhouse']
const night_rounds = '4'
const saved: Program = ['testing/saved/main.ts', 'replay']
const night: readonly Program[] = [
  ...ring,
  schemathesis,
  properties,
  saved,
  mutants,
  ['testing/attack/main.ts', '--seconds', '30'],
  ['testing/fuzz/main.ts', '--requests', '2000000'],
  ['testing/fleet/main.ts', '--minutes', '60', '--accidents'],
  ['testing/fleet/main.ts', '--attribution'],
  ['testing/oracle/main.ts', '1000'],
  ['testing/statements/main.ts', '--check'],
]

if (values.help) console.info(help)
else {
  const failed: Program[] = []
  const chosen = [
    ...(values.short ? short : []),
    ...(values.saved ? [saved] : []),
    ...(values.mutants ? [mutants] : []),
  ]
  for (const program of values.night ? night : chosen.length > 0 ? chosen : ring) {
    if ((await run(program)) !== 0) failed.push(program)
  }
  for (const [file, ...args] of failed) console.error(`NOT PROVED: ${file} ${args.join(' ')}`)
  process.exitCode = failed.length > 0 ? 1 : 0
}

function run([file, ...args]: Program): Promise<number> {
  const env = { ...process.env, ...(values.night && { TRIBUTARY_TEST_ROUNDS: night_rounds }) }
  const program = spawn(process.execPath, [join(root, file), ...args], { cwd: root, stdio: 'inherit', env })
  return new Promise((resolve) => program.on('close', (code) => resolve(code ?? 1)))
}
