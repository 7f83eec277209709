import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** How tables are made: the same files serve one engine, a replicated server and a cluster. */
export interface MigrationParameters {
  /** Uses the Replicated engine family; needs a Keeper, `on_cluster` and the macro `replica` on each server. */
  replicated?: boolean
  /** Cluster name for `ON CLUSTER`: one shard, whose replicas all have every row. */
  on_cluster?: string
}

export interface Migration {
  version: number
  /** `NNNN_name`. */
  name: string
  /** SHA-256 of the file, hexadecimal; placeholders are not filled in, so it is the same on every engine. */
  checksum: string
  template: string
}

/** `clickhouse/migrations` of this checkout. */
export const migrationsDir = fileURLToPath(new URL('../../../../clickhouse/migrations/', import.meta.url))

const fileShape = /^(\d{4})_[a-z0-9_]+\.sql$/

/** The migrations of a folder in their order. Throws for a foreign file, a repeated number or a statement that can't run twice. */
export async function readMigrations(dir: string): Promise<Migration[]> {
  const files = (await readdir(dir)).toSorted()
  const migrations = await Promise.all(files.map((file) => readMigration(dir, file)))
  migrations.forEach(({ version, name }, index) => {
    if (version === migrations[index - 1]?.version) throw new Error(`Two migrations have the number of ${name}`)
  })
  return migrations
}

async function readMigration(dir: string, file: string): Promise<Migration> {
  const number = fileShape.exec(file)?.[1]
  if (number === undefined) throw new Error(`${file} in ${dir} is not named NNNN_name.sql`)
  const template = await readFile(join(dir, file), 'utf8')
  requireRepeatable(template, file)
  const checksum = createHash('sha256').update(template).digest('hex')
  return { version: Number(number), name: file.slice(0, -'.sql'.length), checksum, template }
}

/**
 * Two processes may run the same migration at the same time, and a crash may come before it is recorded. There is no
 * lock that a crash could leave behind: every statement must come to the same end however often it runs. The query of a view
 * stays: an altered view counts repeated batches again (docs/decisions/writing.md#the-query-of-a-view-never-changes).
 */
function requireRepeatable(template: string, file: string): void {
  const statement = statementOf(template)
  const repeatable =
    /^CREATE\s+(TABLE|MATERIALIZED VIEW|VIEW|DICTIONARY)\s+IF NOT EXISTS\s/.test(statement) ||
    /^DROP\s+(TABLE|VIEW|DICTIONARY)\s+IF EXISTS\s/.test(statement) ||
    (/^ALTER\s+TABLE\s/.test(statement) &&
      !/\b(ADD|DROP|RENAME)\s+(COLUMN|INDEX|PROJECTION)\s+(?!IF )/.test(statement) &&
      !/\b(ATTACH|REPLACE|MOVE|UPDATE|MODIFY\s+QUERY)\b/.test(statement))
  if (!repeatable) throw new Error(`${file}: the statement can't be repeated; use IF [NOT] EXISTS`)
  if (/;\s*\S/.test(statement)) throw new Error(`${file} holds more than one statement`)
}

/** The statement of a file, without its comments and without what stands in quotes. */
const statementOf = (template: string): string =>
  template
    .replaceAll(/--.*$/gm, '')
    .replaceAll(/'[^']*'/g, "''")
    .trim()

/** The statement of a migration for an engine. Throws for an unknown placeholder. */
export function renderMigration(
  { name, template }: Migration,
  { replicated, on_cluster }: MigrationParameters,
): string {
  if (on_cluster !== undefined && !/^[A-Za-z0-9_-]+$/.test(on_cluster))
    throw new Error('A cluster name has another shape')
  if (replicated && on_cluster === undefined) throw new Error('Replicated tables need the name of their cluster')
  const values: Record<string, string> = {
    replicated: '',
    on_cluster: on_cluster === undefined ? '' : `ON CLUSTER '${on_cluster}'`,
    dedupe_window: dedupeWindow(replicated ?? false),
  }
  const withEngine = replicated ? replicatedEngine(template, on_cluster!) : template
  return withEngine.replaceAll(/\{\{(\w+)\}\}/g, (_all, key: string) => {
    const value = values[key]
    if (value === undefined) throw new Error(`${name} has an unknown placeholder ${key}`)
    return value
  })
}

/**
 * The engine with its path in Keeper. The default path holds `{uuid}`, which every CREATE makes anew: a replica that is
 * added or made again later would be alone on a path of its own, in silence. This path is the same for whoever creates
 * the table. It has no `{shard}`, so that every server of the cluster is a replica of the whole table.
 */
function replicatedEngine(template: string, cluster: string): string {
  const table = /^CREATE\s+TABLE\s+IF NOT EXISTS\s+(\w+)/.exec(statementOf(template))?.[1]
  const made = template.replace(/\{\{replicated\}\}(\w+)(?:\(([^\n]*?)\))?(?=\s|$)/, (_all, engine: string, given) => {
    const path = `'/clickhouse/tables/${cluster}/{database}/${table}', '{replica}'`
    return `Replicated${engine}(${given === undefined ? path : `${path}, ${given}`})`
  })
  if (made.includes('{{replicated}}')) throw new Error(`The engine of ${table} has another shape`)
  return made
}

/**
 * How long a repeated insert is known: the last 10 000 blocks. 12 partitions that insert twice a second make 24 blocks a
 * second: seven minutes. It has to be longer than an insert waits between its fence and the engine, which is milliseconds;
 * a repeated batch looks up what is there (docs/decisions/writing.md#repeated-batches-are-completed-from-the-tables).
 * On replicated tables an hour is the default; a week is as long as the log keeps records.
 */
const dedupeWindow = (replicated: boolean): string =>
  replicated
    ? 'replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800'
    : 'non_replicated_deduplication_window = 10000'
