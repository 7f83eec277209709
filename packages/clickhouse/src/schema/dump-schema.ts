import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Clickhouse } from '../clickhouse.ts'
import { openEmbeddedClickhouse } from '../embedded/embedded-clickhouse.ts'
import { migrateClickhouse } from './migrate.ts'

/** The statements that make every table and view of the connection's database, as the engine itself words them. */
export async function dumpSchema(clickhouse: Clickhouse): Promise<string> {
  const tables = await clickhouse.query<{ statement: string }>(`
    SELECT replaceAll(formatQuery(create_table_query), concat(currentDatabase(), '.'), '') AS statement
    FROM system.tables WHERE database = currentDatabase() ORDER BY name`)
  const header = '-- Made by `node packages/clickhouse/src/schema/dump-schema.ts` from the migrations. Do not edit.\n'
  return `${header}${tables.map(({ statement }) => `\n${statement};\n`).join('')}`
}

const schemaFile = fileURLToPath(new URL('../../../../clickhouse/schema.sql', import.meta.url))

/** Writes `clickhouse/schema.sql` from an empty engine; with `--check` only compares and says what differs. */
async function main(check: boolean): Promise<void> {
  const data_dir = await mkdtemp(join(tmpdir(), 'tributary-schema-'))
  const clickhouse = await openEmbeddedClickhouse({ data_dir })
  try {
    await migrateClickhouse({ clickhouse })
    const fresh = await dumpSchema(clickhouse)
    if (!check) return await writeFile(schemaFile, fresh)
    const kept = await readFile(schemaFile, 'utf8').catch(() => '')
    if (kept === fresh) return
    console.error('clickhouse/schema.sql is stale; run `node packages/clickhouse/src/schema/dump-schema.ts`:')
    console.error(difference(kept, fresh).join('\n'))
    process.exitCode = 1
  } finally {
    await clickhouse.close()
    await rm(data_dir, { recursive: true, force: true })
  }
}

/** Lines that only one side has, in the order of the files. */
function difference(kept: string, fresh: string): string[] {
  const before = kept.split('\n')
  const after = fresh.split('\n')
  const gone = before.filter((line) => !after.includes(line)).map((line) => `- ${line}`)
  const added = after.filter((line) => !before.includes(line)).map((line) => `+ ${line}`)
  return gone.length + added.length > 0 ? [...gone, ...added] : ['the order of the lines differs']
}

if (import.meta.main) await main(process.argv.includes('--check'))
