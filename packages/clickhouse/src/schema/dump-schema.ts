import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Clickhouse } from '../clickhouse.ts'
import { openEmbeddedClickhouse } from '../embedded/embedded-clickhouse.ts'
import { dataPage } from './data-page.ts'
import { migrateClickhouse } from './migrate.ts'
import { rolesSql } from './roles.ts'

/** The statements that make every table and view of the connection's database, as the engine itself words them. */
export async function dumpSchema(clickhouse: Clickhouse): Promise<string> {
  const tables = await clickhouse.query<{ statement: string }>(`
    SELECT replaceAll(formatQuery(create_table_query), concat(currentDatabase(), '.'), '') AS statement
    FROM system.tables WHERE database = currentDatabase() ORDER BY name`)
  const header = '-- Made by `npm run dump` from the migrations. Do not edit.\n'
  return `${header}${tables.map(({ statement }) => `\n${statement};\n`).join('')}`
}

const root = fileURLToPath(new URL('../../../..', import.meta.url))

/** Everything that is made from the migrations and the declared tables, by file. */
const files: Record<string, (clickhouse: Clickhouse) => Promise<string>> = {
  'clickhouse/schema.sql': dumpSchema,
  'clickhouse/roles.sql': async () => rolesSql(),
  'docs/data.md': dataPage,
}

/** Writes the files from an empty engine; with `--check` only compares and says what differs. */
async function main(check: boolean): Promise<void> {
  const data_dir = await mkdtemp(join(tmpdir(), 'tributary-schema-'))
  const clickhouse = await openEmbeddedClickhouse({ data_dir })
  try {
    await migrateClickhouse({ clickhouse })
    for (const [file, make] of Object.entries(files)) {
      const fresh = await make(clickhouse)
      if (check) await compare(file, fresh)
      else await writeFile(join(root, file), fresh)
    }
  } finally {
    await clickhouse.close()
    await rm(data_dir, { recursive: true, force: true })
  }
}

async function compare(file: string, fresh: string): Promise<void> {
  const kept = await readFile(join(root, file), 'utf8').catch(() => '')
  if (kept === fresh) return
  console.error(`${file} is stale; run \`npm run dump\`:`)
  console.error(difference(kept, fresh).join('\n'))
  process.exitCode = 1
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
