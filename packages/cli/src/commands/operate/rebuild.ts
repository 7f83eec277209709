import type { RebuiltFromAudit } from '@tributary/audited/rebuild'
import { SingleBar } from 'cli-progress'
import type { Command } from 'commander'
import { print } from '../../output.ts'

interface RebuildOptions {
  fromAudit?: boolean
  dryRun?: boolean
  json?: boolean
}

const help = `
Compares the tables of TRIBUTARY_CLICKHOUSE_URL with events_raw_v1, empties the tables that differ and refills them. Use
it for separate services; standalone does the same at each start. Stop all event-writers and receipt-validators first. At their next start they
read the log again from the earliest record, which changes no existing row. The command may be killed and repeated.
--json: {dry_run, differing: [{table, counted, expected}], filled: [names]}

--from-audit builds the tables of events, clicks and postbacks again from the bucket alone, in a database beside the live
one, compares them, and puts them in their place if any differs. Stop all services that write first: event-writer,
attribution, postback-writer, receipt-validator, housekeeper. It needs the settings of Kafka, PostgreSQL, S3 and the master key too, and a
user of ClickHouse who may create databases. A killed one goes on when it is run again. See "Rebuild from the audit store"
in docs/operations.md.
--json: {tables: [{name, rows, differs}], swapped}; unknown_reasons as of replay, absent without any.`

/** Adds `rebuild [--from-audit] [--dry-run]`. */
export function rebuildCommand(program: Command): void {
  program
    .command('rebuild')
    .description('refill ClickHouse tables that lack rows from the stored events, or from the audit store')
    .option('--from-audit', 'build the tables again from the audit store')
    .option('--dry-run', 'only compare the tables')
    .addHelpText('after', help)
    .action((options: RebuildOptions) => (options.fromAudit ? fromAudit(options) : fromEvents(options)))
}

async function fromEvents({ dryRun = false, json }: RebuildOptions): Promise<void> {
  // Imported here, so that other commands do not wait for a Kafka client.
  const { rebuildTables } = await import('../../engines/rebuild.ts')
  const { differing, filled } = await rebuildTables(dryRun)
  const lines = differing.map(({ table, counted, expected }) => `${table}  counts ${counted} of ${expected} events`)
  const done = filled.map((table) => `${table}  refilled`)
  const text = differing.length === 0 ? 'Nothing to do: the tables agree.' : [...lines, ...done].join('\n')
  print({ json }, { dry_run: dryRun, differing, filled }, text)
}

async function fromAudit({ dryRun = false, json }: RebuildOptions): Promise<void> {
  const { rebuildServerFromAudit } = await import('../../engines/rebuild-from-audit.ts')
  const { reading, unknown_reasons, end } = showReading(json !== true)
  const rebuilt = await rebuildServerFromAudit(dryRun, reading).finally(end)
  const unknown = unknown_reasons.size > 0 && { unknown_reasons: Object.fromEntries(unknown_reasons) }
  print({ json }, { ...rebuilt, ...unknown }, describe(rebuilt, unknown_reasons))
}

/** Counts what is read, and shows it on a terminal. */
function showReading(shown: boolean) {
  const format = ' {bar} {percentage}% | {words} | {replayed} events'
  const bar = shown && process.stderr.isTTY ? new SingleBar({ format, stream: process.stderr, hideCursor: true }) : null
  bar?.start(100, 0, { words: '', replayed: 0 })
  const unknown_reasons = new Map<string, number>()
  const reading = {
    replayed: 0,
    doubt(reason: string, count = 1) {
      if (count > 0) unknown_reasons.set(reason, (unknown_reasons.get(reason) ?? 0) + count)
    },
    reached(done: number, total: number, words: string) {
      const percent = total === 0 ? 100 : Math.floor((done * 100) / total)
      bar?.update(percent, { words, replayed: reading.replayed })
    },
  }
  return { reading, unknown_reasons, end: () => bar?.stop() }
}

function describe({ tables, swapped }: RebuiltFromAudit, unknown_reasons: ReadonlyMap<string, number>): string {
  const differing = tables.filter(({ differs }) => differs)
  const reasons = [...unknown_reasons].map(([reason, count]) => `  ${reason}  ${count}`)
  const lines = differing.map(({ name, rows }) => `${name}  differs from its ${rows} rows by the audit store`)
  const end = swapped ? 'The tables are those of the audit store now.' : 'No table was changed.'
  const agree = differing.length === 0 ? ['The tables agree with the audit store.'] : []
  return [...agree, ...lines, end, ...reasons].join('\n')
}
