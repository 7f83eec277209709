import { type RawFormat, type RawTableName, rawFormats, rawTableNames } from '@tributary/contracts/raw-tables'
import { Argument, type Command, Option } from 'commander'
import { instant, instant_forms } from '../../arguments.ts'
import { readConfig } from '../../config.ts'
import { print, table as tableOf } from '../../output.ts'
import { pullRaw } from '../../raw/pull-raw.ts'
import { readSecret, secretOption } from '../../secrets/secret-option.ts'

interface RawOptions {
  key?: string
  keyFile?: string
  json?: boolean
  since: number
  until?: number
  format: RawFormat
  out: string
}

const help = `
The window goes by the time of storing, so late events are in a later file, and each row is in exactly one file. Each file
is written beside its name and renamed: what is there is whole. Run the command again and it goes on where it stopped; the
file of a day that was not over is written anew. Give each table of each app a folder of its own. docs/raw.md explains the
window and how to read a folder with DuckDB or pandas; the reference at /docs lists the columns. Rows that were stored
before there were times of storing: --since 0 --until 1970-01-02.
--json: {files: [{name, rows, since_ms, until_ms}], complete_until_ms}, the files that this run wrote.`

/** Adds `raw TABLE`. */
export function rawCommand(program: Command): void {
  const raw = program
    .command('raw')
    .description('pull raw rows into a folder, a file a day; the key needs the scope raw:read')
    .addArgument(new Argument('<table>', 'the table').choices(rawTableNames))
    .requiredOption('--since <time>', `start: ${instant_forms}`, instant)
    .option('--until <time>', 'exclusive end; same forms (default: now)', instant)
    .addOption(new Option('--format <format>', 'format of the files').choices(rawFormats).default('jsonl'))
    .requiredOption('--out <folder>', 'folder of the files')
    .addHelpText('after', help)
    .action(pull)
  secretOption(raw, 'key', 'server key (srv_...)', 'TRIBUTARY_SERVER_KEY')
}

async function pull(table: RawTableName, options: RawOptions): Promise<void> {
  const { since: since_ms, until: until_ms = Date.now(), format, out: folder } = options
  const key = await readSecret('key', { given: options.key, file: options.keyFile }, 'TRIBUTARY_SERVER_KEY')
  const pulled = await pullRaw({ url: readConfig().url, key, table, format, since_ms, until_ms, folder })
  const rows = pulled.files.map((file) => [file.name, file.rows, new Date(file.until_ms).toISOString()])
  const text = rows.length === 0 ? 'Nothing new.' : tableOf(['file', 'rows', 'until'], rows)
  print(options, pulled, text)
}
