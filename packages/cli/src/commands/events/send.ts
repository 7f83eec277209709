import type { Command } from 'commander'
import { readableFile, seconds, several } from '../../arguments.ts'
import { readConfig } from '../../config.ts'
import { checkFileName } from '../../ingest/events.ts'
import { confirm } from '../../ingest/look/confirm.ts'
import { parseMapping } from '../../ingest/mapping.ts'
import { describeRejected, refuseAllRejected } from '../../ingest/rejected-totals.ts'
import { batch_limits, send } from '../../ingest/send.ts'
import { print } from '../../output.ts'
import { readSecret, secretOption } from '../../secrets/secret-option.ts'

interface SendCommandOptions {
  appKey: string
  companyKey: string
  secret?: string
  secretFile?: string
  retryFor: number
  set?: string[]
  absent?: string[]
  extraFields?: boolean
  dryRun?: boolean
  json?: boolean
}

const help = `
FILE holds one event per line, in the form that clients send. --set replaces what a line has in that field. A line without event_id gets one, always the same for the
same line of the same file. The command writes rejected lines to FILE.rejected.jsonl as {line, reason, field, message, text}.

The command reads the first 1000 lines before it sends any. It warns of names that are no field of an event, unless
--extra-fields is given, and of purchases without revenue: an accepted event never changes. --dry-run reads the whole
file, prints what would be accepted, by event name with sums of revenue, and sends nothing. It needs no secret. It does
not know what was sent before.
--json: {accepted, rejected, batches, seconds}. With --dry-run: {dry_run, accepted, rejected, skipped, events, reasons,
rejected_lines, unknown_fields, without_revenue}.`

/** Adds `send`. */
export function sendCommand(program: Command): void {
  const command = program
    .command('send')
    .description('send events as a client: signed, gzipped batches to /event')
    .requiredOption('--app-key <key>', 'key of the app (app_live_...)')
    .requiredOption('--company-key <key>', 'key of its company (co_live_...)')
    .option('--set <field=value>', 'the same value on every line, such as device.os=ios', several)
    .option('--absent <text>', 'a text that means no value, such as NA', several)
    .option('--extra-fields', 'send fields that events do not have without a warning')
    .option('--dry-run', 'print what would be accepted, and send nothing')
    .option('--retry-for <seconds>', 'how long to retry while the service is unreachable', seconds, 300)
    .argument('<file>', 'FILE.jsonl or FILE.jsonl.gz', readableFile)
    .addHelpText('after', help)
    .action(async (path: string, options: SendCommandOptions) => {
      checkFileName(path, /\.jsonl(\.gz)?$/i, '.jsonl or .jsonl.gz')
      const extra_fields = options.extraFields === true
      const mapping = parseMapping([], options.set ?? [], options.absent ?? [])
      if (options.dryRun) {
        const { printDryRun } = await import('../../ingest/look/print-dry-run.ts')
        return printDryRun(options, path, { ...batch_limits, mapping }, { source: 'sdk', extra_fields })
      }
      const secret = { given: options.secret, file: options.secretFile }
      const signing_secret = await readSecret('secret', secret, 'TRIBUTARY_SIGNING_SECRET')
      const started = performance.now()
      const { rejected_path, rejected_reasons, ...total } = await send({
        path,
        url: readConfig().url,
        app_key: options.appKey,
        company_key: options.companyKey,
        signing_secret,
        mapping,
        give_up_after_ms: options.retryFor * 1000,
        show_progress: !options.json,
        look: { extra_fields, json: options.json === true, confirm },
      })
      const answer = { ...total, seconds: Math.round(performance.now() - started) / 1000 }
      const text = `${total.accepted} accepted, ${total.rejected} rejected, ${total.batches} batches, ${answer.seconds} s`
      print(options, answer, [text, ...describeRejected(rejected_reasons, rejected_path)].join('\n'))
      refuseAllRejected(total, rejected_reasons)
    })
  secretOption(command, 'secret', 'signing secret of the app', 'TRIBUTARY_SIGNING_SECRET')
}
