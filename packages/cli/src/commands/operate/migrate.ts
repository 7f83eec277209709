import type { Command } from 'commander'
import { type Migrated, migrate } from '../../engines/migrate.ts'
import { print } from '../../output.ts'

const help = `
Migrates the servers of TRIBUTARY_POSTGRES_URL and TRIBUTARY_CLICKHOUSE_URL. Without such a setting it migrates the
embedded engine in the data folder, on which no service may run meanwhile; npm start migrates that folder itself. Only
this command migrates servers.
--json: {dry_run, postgres: [names], clickhouse: [names]}`

/** Adds `migrate [--dry-run]`. */
export function migrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('migrate PostgreSQL and ClickHouse to the schema of this version')
    .option('--dry-run', 'only list the migrations that would run')
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
