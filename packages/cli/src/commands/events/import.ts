import { Argument, type Command } from 'commander'
import { readableFile, seconds } from '../../arguments.ts'
import { readConfig } from '../../config.ts'
import { importLines, providers, readExportForm } from '../../import/import-lines.ts'
import { backfill, type FileReader } from '../../ingest/backfill.ts'
import { checkFileName } from '../../ingest/events.ts'
import { nameResume, onInterrupt } from '../../ingest/interrupt.ts'
import { type OpenedFile, openFile } from '../../ingest/lines.ts'
import { describeRejected, describeSkipped, refuseAllRejected } from '../../ingest/rejected-totals.ts'
import { print } from '../../output.ts'
import { readSecret, secretOption } from '../../secrets/secret-option.ts'

interface ImportCommandOptions {
  key?: string
  keyFile?: string
  installColumn?: string
  dryRun?: boolean
  resume?: boolean
  retryFor: number
  json?: boolean
}

const help = `
FILE is a raw-data export of installs or in-app events, with the columns as the provider names them and times in UTC:
  appsflyer  reports of the export page or the Pull API, and Data Locker
  adjust     CSV uploads; the columns are placeholders such as {activity_kind}
  branch     daily and custom exports

An install becomes an app_install with the attribution that the export states, which our own clicks never change. The key needs
the scope attribution:write beside events:write. Without it each install is attributed by our clicks. Import installs first.
The id of an install is the column install_uuid, else appsflyer_id, adid, or the identity of Branch. Import into an app whose
SDK sends another id would count its installs twice: name the column with the id of our SDK by --install-column.

Rows that are no install and no in-app event are skipped and counted by reason: sessions, clicks, opens, retargeting, sandbox.
An accepted event never changes, so begin with --dry-run: it reads the whole file, needs no key, and sends nothing.
Rejected lines are in FILE.rejected.jsonl. FILE.backfill.json holds the progress; the same command with --resume goes on from
there. A row that two files hold counts once.
--json: {accepted, rejected, skipped: {reason: n}, seconds}; the counts include resumed runs, seconds is this run.
With --dry-run: {dry_run, accepted, rejected, skipped, events, reasons, rejected_lines, unknown_fields, without_revenue}.`

/** Adds `import`. */
export function importCommand(program: Command): void {
  const command = program
    .command('import')
    .description('load history from another attribution provider')
    .option('--install-column <column>', 'the column that names an install')
    .option('--dry-run', 'print what would be accepted, and send nothing')
    .option('--resume', 'continue where an earlier run of the same command ended')
    .option('--retry-for <seconds>', 'how long to retry while the service is unreachable', seconds, 300)
    .addArgument(new Argument('<provider>', 'who wrote the file').choices(providers.map(({ name }) => name)))
    .argument('<file>', 'FILE.csv or FILE.csv.gz', readableFile)
    .addHelpText('after', help)
    .action(importFile)
  secretOption(command, 'key', 'server key (srv_...)', 'TRIBUTARY_SERVER_KEY')
}

async function importFile(provider_name: string, path: string, options: ImportCommandOptions): Promise<void> {
  checkFileName(path, /\.csv(\.gz)?$/i, '.csv or .csv.gz')
  const provider = providers.find(({ name }) => name === provider_name)!
  if (options.dryRun) {
    const { printReading } = await import('../../ingest/look/print-dry-run.ts')
    const file = await openFile(path)
    const { lines } = await openExport(file)
    return printReading(options, { lines: lines(file.open().content), unknown_columns: [], source: 'bulk' })
  }
  const key = await readSecret('key', { given: options.key, file: options.keyFile }, 'TRIBUTARY_SERVER_KEY')
  const started = performance.now()
  const { rejected_path, rejected_reasons, skipped_reasons, accepted, rejected } = await backfill({
    path,
    url: readConfig().url,
    key,
    openLines: (file) => openExport(file),
    resume: options.resume === true,
    give_up_after_ms: options.retryFor * 1000,
    show_progress: !options.json,
    stopped: onInterrupt(),
  }).catch(nameResume)
  const total = { accepted, rejected, skipped: skipped_reasons }
  const answer = { ...total, seconds: Math.round(performance.now() - started) / 1000 }
  const text = `${accepted} accepted, ${rejected} rejected, ${answer.seconds} s`
  print(
    options,
    answer,
    [text, ...describeSkipped(skipped_reasons), ...describeRejected(rejected_reasons, rejected_path)].join('\n'),
  )
  refuseAllRejected(total, rejected_reasons)

  async function openExport(file: OpenedFile): Promise<FileReader> {
    const form = await readExportForm(file, provider, options.installColumn)
    return {
      form: [provider.name, form.install_column],
      lookAhead: async () => {},
      lines: (content) => importLines(file, content, form),
    }
  }
}
