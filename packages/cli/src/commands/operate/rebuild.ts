import type { Command } from 'commander'
import { print } from '../../output.ts'

const help = `
For a fleet: compares the tables of TRIBUTARY_CLICKHOUSE_URL with events_raw_v1, empties those that differ and fills them
again. Stop all event-writers first; when they start they read the log again from its earliest record, which changes
nothing that is there. Standalone does all of it by itself at each start. May be killed and repeated.
--json: {dry_run, differing: [{table, counted, expected}], filled: [names]}`

/** `rebuild [--dry-run]`. */
export function rebuildCommand(program: Command): void {
  program
    .command('rebuild')
    .description('fill tables of ClickHouse that lack rows again from the events')
    .option('--dry-run', 'only compare')
    .addHelpText('after', help)
    .action(async ({ dryRun = false, json }: { dryRun?: boolean; json?: boolean }) => {
      // Loaded here: no other command should wait for a Kafka client.
      const { rebuildTables } = await import('../../engines/rebuild.ts')
      const { differing, filled } = await rebuildTables(dryRun)
      const lines = differing.map(
        ({ table, counted, expected }) => `${table}  stands for ${counted} events of ${expected}`,
      )
      const done = filled.map((table) => `${table}  filled again`)
      const text = differing.length === 0 ? 'Nothing to do: the tables agree.' : [...lines, ...done].join('\n')
      print({ json }, { dry_run: dryRun, differing, filled }, text)
    })
}
