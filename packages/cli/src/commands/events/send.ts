import type { Command } from 'commander'
import { readableFile, seconds } from '../../arguments.ts'
import { readConfig } from '../../config.ts'
import { checkFileName } from '../../ingest/events.ts'
import { describeRejected, refuseAllRejected } from '../../ingest/rejected-totals.ts'
import { send } from '../../ingest/send.ts'
import { print } from '../../output.ts'
import { readSecret, secretOption } from '../../secrets/secret-option.ts'

interface SendCommandOptions {
  appKey: string
  companyKey: string
  secret?: string
  secretFile?: string
  retryFor: number
  json?: boolean
}

const help = `
FILE holds one event per line, in the form that clients send. A line without event_id gets one, always the same for the
same line of the same file. The command writes rejected lines to FILE.rejected.jsonl as {line, reason, field, text}.
--json: {accepted, rejected, batches, seconds}`

/** Adds `send`. */
export function sendCommand(program: Command): void {
  const command = program
    .command('send')
    .description('send events as a client: signed, gzipped batches to /event')
    .requiredOption('--app-key <key>', 'key of the app (app_live_...)')
    .requiredOption('--company-key <key>', 'key of its company (co_live_...)')
    .option('--retry-for <seconds>', 'how long to retry while the service is unreachable', seconds, 300)
    .argument('<file>', 'FILE.jsonl or FILE.jsonl.gz', readableFile)
    .addHelpText('after', help)
    .action(async (path: string, options: SendCommandOptions) => {
      checkFileName(path, /\.jsonl(\.gz)?$/i, '.jsonl or .jsonl.gz')
      const secret = { given: options.secret, file: options.secretFile }
      const signing_secret = await readSecret('secret', secret, 'TRIBUTARY_SIGNING_SECRET')
      const started = performance.now()
      const { rejected_path, rejected_reasons, ...total } = await send({
        path,
        url: readConfig().url,
        app_key: options.appKey,
        company_key: options.companyKey,
        signing_secret,
        give_up_after_ms: options.retryFor * 1000,
        show_progress: !options.json,
      })
      const answer = { ...total, seconds: Math.round(performance.now() - started) / 1000 }
      const text = `${total.accepted} accepted, ${total.rejected} rejected, ${total.batches} batches, ${answer.seconds} s`
      print(options, answer, [text, ...describeRejected(rejected_reasons, rejected_path)].join('\n'))
      refuseAllRejected(total, rejected_reasons)
    })
  secretOption(command, 'secret', 'signing secret of the app', 'TRIBUTARY_SIGNING_SECRET')
}
