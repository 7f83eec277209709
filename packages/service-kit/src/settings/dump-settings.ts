import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { partNames } from './part-settings.ts'
import { type Setting, settings } from './settings.ts'

/** Headings by the beginning of the names below them; the last one takes the rest. */
const groups: readonly (readonly [prefix: string, heading: string])[] = [
  ['TRIBUTARY_KAFKA_', 'Kafka'],
  ['TRIBUTARY_CLICKHOUSE_', 'ClickHouse'],
  ['TRIBUTARY_POSTGRES_', 'PostgreSQL'],
  ['TRIBUTARY_REDIS_', 'Redis'],
  ['TRIBUTARY_S3_', 'S3'],
  ['OTEL_', 'Traces'],
  ['TRIBUTARY_', 'Every process'],
]

const introduction = `# Settings

<!-- Made by npm run dump: do not edit. -->

Settings are environment variables. An empty one counts as not set. A wrong value stops the start; so does a name that begins with
\`TRIBUTARY_\` and is no setting. The message names all of them at once. \`npx tributary config\` shows these tables with the present values.
\`npm start\` needs no setting: it embeds every engine that no setting places on a server.

\`attribution\` and \`housekeeper\` run several services as parts of one process: ${partNames.join(', ')}. A name that ends
with \`__\` and a part is the setting for that part alone, as in \`TRIBUTARY_POSTGRES_URL__INSTALL_WRITER\`. It goes before the setting for
all. So each part keeps a user of its own in every engine.

The names of traces (docs/operations.md#traces) are those of OpenTelemetry. Of others,
OpenTelemetry's exporter reads \`OTEL_EXPORTER_OTLP_TRACES_HEADERS\`, \`..._CERTIFICATE\`, \`..._CLIENT_KEY\` and \`..._COMPRESSION\` by itself.
`

/** The page of all settings, as Markdown. */
function settingsPage(): string {
  const grouped = Map.groupBy(Object.entries(settings), ([name]) => groups.find(([prefix]) => name.startsWith(prefix))!)
  const sections = [groups.at(-1)!, ...groups.slice(0, -1)].map((group) => {
    const rows = (grouped.get(group) ?? []).map(([name, setting]) => toCells(name, setting))
    return `## ${group[1]}\n\n${toTable(rows)}\n`
  })
  return [introduction, ...sections].join('\n')
}

const head = ['Setting', 'Default', 'Must be', 'Meaning']

function toCells(name: string, { default_text, must, meaning, secret }: Setting<unknown>): string[] {
  const shown = default_text === null || default_text === '' ? 'none' : `\`${default_text}\``
  const kept = secret === 'whole' ? ' (secret)' : ''
  return [`\`${name}\``, shown, must, meaning + kept].map((text) => text.replaceAll('|', '\\|'))
}

/** Columns of a table have one width, which the formatter demands. */
function toTable(rows: string[][]): string {
  const widths = head.map((_, n) => Math.max(...[head, ...rows].map((row) => row[n]!.length)))
  const line = (cells: readonly string[], fill: string) =>
    `| ${cells.map((cell, n) => cell.padEnd(widths[n]!, fill)).join(' | ')} |`
  return [line(head, ' '), line(['', '', '', ''], '-'), ...rows.map((row) => line(row, ' '))].join('\n')
}

/** Writes docs/settings.md; with `--check` it only says that it is out of date, and exits with 1. */
async function main(): Promise<void> {
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
  const file = join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'settings.md')
  const text = settingsPage()
  if (!values.check) return writeFile(file, text)
  if ((await readFile(file, 'utf8').catch(() => '')) === text) return
  console.error('docs/settings.md is not what the code says: run `npm run dump` and commit it.')
  process.exitCode = 1
}

if (import.meta.main) await main()
