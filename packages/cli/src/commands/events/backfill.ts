import type { Command } from 'commander'
import { seconds, several } from '../../arguments.ts'
import { readConfig } from '../../config.ts'
import { CliError } from '../../errors.ts'
import { backfill } from '../../ingest/backfill.ts'
import { parseMapping } from '../../ingest/csv.ts'
import { checkFileName } from '../../ingest/events.ts'
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
  retryFor: number
  json?: boolean
}

const help = `
JSON lines hold one event each. In CSV the first line names the columns; a column fills the field of its name
(event_name, event_ts_ms, install_uuid, props.NAME, device.NAME, ...) unless --map says otherwise. An empty value is no
value. revenue becomes a number, event_ts_ms a number from Unix ms or an ISO time with its zone; all else stays text.

Rejected lines are written to FILE.rejected.jsonl as {line, reason, field, text}; the rest goes on.
How far it came is kept in FILE.backfill.json: after a kill, the same command with --resume goes on there. Without
--resume it starts anew.

A line without event_id is sent under one made from the content of the file and the number of the line. So a line that
is sent again is a duplicate to the service and counts once. duplicates_possible says how many such lines were accepted
after they may have been sent before: by a killed run that was resumed, or in a request that got no answer.
A file of which no line was accepted ends with all_rejected, exit 1, and the counts by reason. Ctrl-C leaves all as --resume needs it.
--json: {accepted, rejected, duplicates_possible, seconds}; the counts cover resumed runs too, seconds this one.`

/** `backfill`. */
export function backfillCommand(program: Command): void {
  const command = program
    .command('backfill')
    .description('load a file of past events through /s2s/events/bulk')
    .option('--map <column=field>', 'CSV: fill another field; an empty field leaves the column out', several)
    .option('--set <field=value>', 'CSV: the same value on every line', several)
    .option('--absent <text>', 'CSV: a text that means no value, such as NA', several)
    .option('--resume', 'go on where a run of the same command ended')
    .option('--retry-for <seconds>', 'how long to try again while the service is away', seconds, 300)
    .argument('<file>', 'FILE.jsonl, FILE.csv, or either with .gz')
    .addHelpText('after', help)
    .action(async (path: string, options: BackfillCommandOptions) => {
      checkFileName(path, /\.(jsonl|csv)(\.gz)?$/i, '.jsonl, .csv, .jsonl.gz or .csv.gz')
      const mapping = parseMapping(options.map ?? [], options.set ?? [], options.absent ?? [])
      const key = await readSecret('key', { given: options.key, file: options.keyFile }, 'TRIBUTARY_SERVER_KEY')
      const started = performance.now()
      const interrupt = onInterrupt()
      const { rejected_path, rejected_reasons, ...total } = await backfill({
        path,
        url: readConfig().url,
        key,
        mapping,
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

const resume = 'The same command with --resume goes on.'

/** Aborted by the first Ctrl-C or SIGTERM; the second one ends the process at once. */
function onInterrupt(): AbortSignal {
  const stop = new AbortController()
  const interrupt = () => stop.abort(new CliError('interrupted', `The run was stopped. ${resume}`))
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
  return stop.signal
}

function nameResume(error: unknown): never {
  if (error instanceof CliError && error.code === 'unavailable')
    throw new CliError(error.code, `${error.message} ${resume}`)
  throw error
}
