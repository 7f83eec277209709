import type { Command } from 'commander'
import { readableFile, seconds, several } from '../../arguments.ts'
import { readConfig } from '../../config.ts'
import { backfill, bulk, type FileReader } from '../../ingest/backfill.ts'
import { checkFileName } from '../../ingest/events.ts'
import { nameResume, onInterrupt } from '../../ingest/interrupt.ts'
import type { OpenedFile } from '../../ingest/lines.ts'
import { confirm } from '../../ingest/look/confirm.ts'
import { linesOf } from '../../ingest/look/first-lines.ts'
import { type LookOptions, lookAhead } from '../../ingest/look/heed.ts'
import { type Mapping, parseMapping } from '../../ingest/mapping.ts'
import { describeRejected, refuseAllRejected } from '../../ingest/rejected-totals.ts'
import { print } from '../../output.ts'
import { readSecret, secretOption } from '../../secrets/secret-option.ts'

interface BackfillCommandOptions {
  key?: string
  keyFile?: string
  map?: string[]
  set?: string[]
  absent?: string[]
  resume?: boolean
  extraFields?: boolean
  dryRun?: boolean
  retryFor: number
  json?: boolean
}

const help = `
A JSON line holds one event. In CSV the first line names the columns. A column fills the field of its name (event_name,
event_ts_ms, install_uuid, props.NAME, device.NAME, ...) unless --map names another. An empty value means no value.
revenue becomes a number. event_ts_ms is Unix ms or an ISO time with its zone;
a time without one is rejected as time_without_zone. All other values stay text.
On a JSON line --set replaces what is there.

The command reads the first 1000 lines before it sends any. It stops if a CSV column is no field of an event, unless
--extra-fields or a yes on the terminal says that it is meant. It warns of such fields in JSON, and of purchases without
revenue: an accepted event never changes. --dry-run reads the whole file, prints what would be accepted, by event name
with sums of revenue, and sends nothing. It needs no key. It does not know what the key allows, nor what was sent before.

The command writes rejected lines to FILE.rejected.jsonl as {line, reason, field, message, text} and sends the others.
FILE.backfill.json holds the progress. After a kill, the same command with --resume continues from there, and does not
ask about columns again. Without --resume it starts again from the beginning.

A line without event_id gets one from the content of the file and the line number, so a line that is sent twice counts
once. duplicates_possible counts accepted lines that may have been sent before, by a killed run or in a request without
an answer. When no line is accepted, the command fails with all_rejected (exit 1) and the counts by reason. A run that
was stopped with Ctrl-C can be resumed.
--json: {accepted, rejected, duplicates_possible, seconds}; the counts include resumed runs, seconds is this run. With
--dry-run: {dry_run, accepted, rejected, skipped, events, reasons, rejected_lines, unknown_fields, without_revenue}.`

/** Adds `backfill`. */
export function backfillCommand(program: Command): void {
  const command = program
    .command('backfill')
    .description('load a file of past events through /s2s/events/bulk')
    .option('--map <column=field>', 'CSV: fill another field; an empty field skips the column', several)
    .option('--set <field=value>', 'the same value on every line', several)
    .option('--absent <text>', 'a text that means no value, such as NA', several)
    .option('--extra-fields', 'send columns that are no field of an event')
    .option('--dry-run', 'print what would be accepted, and send nothing')
    .option('--resume', 'continue where an earlier run of the same command ended')
    .option('--retry-for <seconds>', 'how long to retry while the service is unreachable', seconds, 300)
    .argument('<file>', 'FILE.jsonl, FILE.csv, or either with .gz', readableFile)
    .addHelpText('after', help)
    .action(async (path: string, options: BackfillCommandOptions) => {
      checkFileName(path, /\.(jsonl|csv)(\.gz)?$/i, '.jsonl, .csv, .jsonl.gz or .csv.gz')
      const mapping = parseMapping(options.map ?? [], options.set ?? [], options.absent ?? [])
      const extra_fields = options.extraFields === true
      if (options.dryRun) {
        const { printDryRun } = await import('../../ingest/look/print-dry-run.ts')
        return printDryRun(options, path, { ...bulk, mapping }, { source: 'bulk', extra_fields })
      }
      const key = await readSecret('key', { given: options.key, file: options.keyFile }, 'TRIBUTARY_SERVER_KEY')
      const started = performance.now()
      const interrupt = onInterrupt()
      const look = { extra_fields, json: options.json === true, confirm }
      const { rejected_path, rejected_reasons, skipped_reasons, ...total } = await backfill({
        path,
        url: readConfig().url,
        key,
        openLines: (file) => eventFile(file, mapping, look),
        resume: options.resume === true,
        give_up_after_ms: options.retryFor * 1000,
        show_progress: !options.json,
        stopped: interrupt,
      }).catch(nameResume)
      const answer = { ...total, seconds: Math.round(performance.now() - started) / 1000 }
      const text = `${total.accepted} accepted, ${total.rejected} rejected, ${answer.seconds} s`
      print(options, answer, [text, ...describeRejected(rejected_reasons, rejected_path)].join('\n'))
      refuseAllRejected(total, rejected_reasons)
    })
  secretOption(command, 'key', 'server key (srv_...)', 'TRIBUTARY_SERVER_KEY')
}

/** A file whose lines are events. */
function eventFile(file: OpenedFile, mapping: Mapping, look: LookOptions): FileReader {
  const form = { ...bulk, mapping }
  return {
    form: [[...mapping.map], [...mapping.set], [...mapping.absent]],
    lookAhead: () => lookAhead(file, form, look),
    lines: (content) => linesOf(file, content, form),
  }
}
