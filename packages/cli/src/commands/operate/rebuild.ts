import type { Command } from 'commander'
import { describeRebuilt, showReading } from '../../engines/show-reading.ts'
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
--json: {tables: [{name, rows, differs}], swapped}; unknown_reasons as of replay, and unreadable_objects: [keys], at most 20 of them,
both absent without any.`

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
  const { reading, doubts, end } = showReading(json !== true)
  const rebuilt = await rebuildServerFromAudit(dryRun, reading).finally(end)
  print({ json }, { ...rebuilt, ...doubts() }, describeRebuilt(rebuilt, doubts()))
}
