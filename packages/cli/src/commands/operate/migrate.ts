import type { Command } from 'commander'
import { type Migrated, migrate } from '../../engines/migrate.ts'
import { print } from '../../output.ts'

const help = `
Brings PostgreSQL and ClickHouse to the schema of this version: the server that TRIBUTARY_POSTGRES_URL or
TRIBUTARY_CLICKHOUSE_URL names, else the engine of the data folder. npm start does the latter by itself; the service must
not run on the folder meanwhile. Servers are only ever migrated from here.
--json: {dry_run, postgres: [names], clickhouse: [names]}`

/** `migrate [--dry-run]`. */
export function migrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('bring PostgreSQL and ClickHouse to the schema of this version')
    .option('--dry-run', 'only say which migrations would run')
    .addHelpText('after', help)
    .action(async ({ dryRun = false, json }: { dryRun?: boolean; json?: boolean }) => {
      const migrated = await migrate(dryRun)
      const answer = { dry_run: dryRun, ...migrated }
      print({ json }, answer, describe(migrated, dryRun ? 'would run' : 'ran'))
    })
}

function describe({ postgres, clickhouse }: Migrated, did: string): string {
  const lines = [
    ...postgres.map((name) => `PostgreSQL  ${did}  ${name}`),
    ...clickhouse.map((name) => `ClickHouse  ${did}  ${name}`),
  ]
  return lines.length === 0 ? 'Nothing to do: both schemas are up to date.' : lines.join('\n')
}
