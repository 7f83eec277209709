import type { Command } from 'commander'
import { print } from '../../output.ts'

const help = `
Compares the tables of TRIBUTARY_CLICKHOUSE_URL with events_raw_v1, empties the tables that differ and refills them. Use
it for separate services; standalone does the same at each start. Stop all event-writers and receipt-validators first. At their next start they
read the log again from the earliest record, which changes no existing row. The command may be killed and repeated.
--json: {dry_run, differing: [{table, counted, expected}], filled: [names]}`

/** Adds `rebuild [--dry-run]`. */
export function rebuildCommand(program: Command): void {
  program
    .command('rebuild')
    .description('refill ClickHouse tables that lack rows from the stored events')
    .option('--dry-run', 'only compare the tables')
    .addHelpText('after', help)
    .action(async ({ dryRun = false, json }: { dryRun?: boolean; json?: boolean }) => {
      // Imported here, so that other commands do not wait for a Kafka client.
      const { rebuildTables } = await import('../../engines/rebuild.ts')
      const { differing, filled } = await rebuildTables(dryRun)
      const lines = differing.map(({ table, counted, expected }) => `${table}  counts ${counted} of ${expected} events`)
      const done = filled.map((table) => `${table}  refilled`)
      const text = differing.length === 0 ? 'Nothing to do: the tables agree.' : [...lines, ...done].join('\n')
      print({ json }, { dry_run: dryRun, differing, filled }, text)
    })
}
