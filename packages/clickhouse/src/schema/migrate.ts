import type { Clickhouse } from '../clickhouse.ts'
import {
  type Migration,
  type MigrationParameters,
  migrationsDir,
  readMigrations,
  renderMigration,
} from './migration-files.ts'

export interface MigrateOptions {
  clickhouse: Clickhouse
  /** `clickhouse/migrations` of this checkout by default. */
  dir?: string
  /** Only says what would run; writes nothing. */
  dryRun?: boolean
  /** Whether a recorded migration of a newer version, which this code lacks, does no harm to it. Default: none. */
  accepts?: (name: string) => boolean
  parameters?: MigrationParameters
}

interface Recorded {
  version: number
  name: string
  checksum: string
}

/**
 * Brings the schema to what the code knows and gives back the names of what ran (or would run). Throws before it
 * changes anything when a recorded migration was edited, or is unknown here (a schema ahead of the code) and not accepted.
 *
 * Safe from several processes at once, without a lock: each statement comes to the same end however often it runs
 * (readMigrations refuses others), the engine itself orders two DDL statements of one table, and a migration is
 * recorded after it ran, under a token of its own. A crash before the record only means that it runs again.
 */
export async function migrateClickhouse(options: MigrateOptions): Promise<string[]> {
  const { clickhouse, dir = migrationsDir, dryRun = false, accepts = () => false, parameters = {} } = options
  const migrations = await readMigrations(dir)
  const recorded = await readRecorded(clickhouse)
  refuseForeign(migrations, recorded, accepts)
  const done = new Set(recorded.map(({ version }) => version))
  const pending = migrations.filter(({ version }) => !done.has(version))
  if (!dryRun && pending.length > 0) {
    await clickhouse.command(renderMigration(recordTable, parameters))
    for (const migration of pending) {
      await clickhouse.command(renderMigration(migration, parameters))
      await record(clickhouse, migration)
    }
  }
  return pending.map(({ name }) => name)
}

const recordTable: Migration = {
  version: 0,
  name: 'schema_migrations_v1',
  checksum: '',
  template: `
CREATE TABLE IF NOT EXISTS schema_migrations_v1 {{on_cluster}}
(
    version   UInt32 COMMENT 'number of the migration file',
    name      String COMMENT 'name of the migration file without its ending',
    checksum  String COMMENT 'SHA-256 of the file, hexadecimal'
)
ENGINE = {{replicated}}ReplacingMergeTree
ORDER BY version
SETTINGS {{dedupe_window}}`,
}

async function readRecorded(clickhouse: Clickhouse): Promise<Recorded[]> {
  const tables = await clickhouse.query(
    `SELECT name FROM system.tables WHERE database = currentDatabase() AND name = 'schema_migrations_v1'`,
  )
  if (tables.length === 0) return []
  return clickhouse.query<Recorded>(
    'SELECT DISTINCT version, name, checksum FROM schema_migrations_v1 ORDER BY version',
  )
}

function refuseForeign(
  migrations: readonly Migration[],
  recorded: readonly Recorded[],
  accepts: (name: string) => boolean,
): void {
  for (const { version, name, checksum } of recorded) {
    const known = migrations.find((migration) => migration.version === version)
    if (known === undefined) {
      if (accepts(name)) continue
      throw new Error(
        `The ClickHouse schema is ahead of this code: it holds migration ${name}. Start the version that made it, or a newer one.`,
      )
    }
    if (known.checksum !== checksum || known.name !== name) {
      throw new Error(
        version === 1
          ? `These ClickHouse tables were made by a development version from before the baseline, or ${name} was changed after it ran. Begin with an empty database or data folder, or start the version that made them.`
          : `ClickHouse migration ${name} was changed after it ran. Restore the file and put the change into a new migration.`,
      )
    }
  }
}

async function record(clickhouse: Clickhouse, { version, name, checksum }: Migration): Promise<void> {
  await clickhouse.insert({
    table: 'schema_migrations_v1',
    columns: ['version', 'name', 'checksum'],
    lines: JSON.stringify([version, name, checksum]),
    token: `schema_migrations_v1/${name}/${checksum}`,
  })
}
