import { createServerClient } from '@tributary/client/server-client'
import { columnsOf } from '@tributary/contracts/reports'
import type { Command } from 'commander'
import { instant, instant_forms, readableFile, seconds, several } from '../../arguments.ts'
import { readConfig } from '../../config.ts'
import { loadCosts } from '../../costs/load-costs.ts'
import { requestDefaults, throwCliError } from '../../http.ts'
import { checkFileName } from '../../ingest/events.ts'
import { parseMapping } from '../../ingest/mapping.ts'
import { describeRejected, refuseAllRejected } from '../../ingest/rejected-totals.ts'
import { print, table } from '../../output.ts'
import { readReport } from '../../reports/read-report.ts'
import { readSecret, secretOption } from '../../secrets/secret-option.ts'

interface KeyOptions {
  key?: string
  keyFile?: string
  json?: boolean
}

interface LoadCommandOptions extends KeyOptions {
  map?: string[]
  set?: string[]
  dryRun?: boolean
  retryFor: number
}

interface ListCommandOptions extends KeyOptions {
  since?: number
  until?: number
}

const help = `
A line holds one cost: day, partner, campaign, ad_group, country, cost, currency, clicks, impressions. In CSV the first line
names the columns, and an empty value means no value. A cost is named by day, partner, campaign, ad_group and country. The
newest one counts: that of the file with the later time of change, else that which was loaded later. In a file the last line
counts. A cost of 0 takes it out of reports. So a file may be loaded again, and after a kill from its beginning.

The command writes rejected lines to FILE.rejected.jsonl as {line, reason, field, message, text} and sends the others.
--dry-run sends nothing, and says how many costs are new, changed and equal; the key then needs the scope reports:read.
--json: {accepted, rejected, seconds}. With --dry-run: {new, changed, equal, rejected}.`

/** Adds `cost load|list`. */
export function costCommands(program: Command): void {
  const cost = program.command('cost').description('what ads cost: load a file, list')
  const load = cost
    .command('load')
    .description('upload a file of costs; the key needs the scope costs:write')
    .option('--map <column=field>', 'CSV: fill another field; an empty field skips the column', several)
    .option('--set <field=value>', 'the same value on every line, such as currency=EUR', several)
    .option('--dry-run', 'compare with what is stored, and send nothing')
    .option('--retry-for <seconds>', 'how long to retry while the service is unreachable', seconds, 300)
    .argument('<file>', 'FILE.jsonl, FILE.csv, or either with .gz', readableFile)
    .addHelpText('after', help)
    .action(loadFile)
  secretOption(load, 'key', 'server key (srv_...)', 'TRIBUTARY_SERVER_KEY')
  const list = cost
    .command('list')
    .description('list uploaded costs; the key needs the scope reports:read')
    .option('--since <time>', `start: ${instant_forms} (default: 30 days ago)`, instant)
    .option('--until <time>', 'exclusive end; same forms (default: now)', instant)
    .action(listCosts)
  secretOption(list, 'key', 'server key (srv_...)', 'TRIBUTARY_SERVER_KEY')
}

const keyOf = ({ key: given, keyFile: file }: KeyOptions) => readSecret('key', { given, file }, 'TRIBUTARY_SERVER_KEY')

async function loadFile(path: string, options: LoadCommandOptions): Promise<void> {
  checkFileName(path, /\.(jsonl|csv)(\.gz)?$/i, '.jsonl, .csv, .jsonl.gz or .csv.gz')
  const mapping = parseMapping(options.map ?? [], options.set ?? [], [])
  const target = { path, url: readConfig().url, key: await keyOf(options), mapping }
  if (options.dryRun) {
    const { compareCosts } = await import('../../costs/compare-costs.ts')
    const { rejected_reasons, ...counts } = await compareCosts(target)
    const text = `Nothing was sent. ${counts.new} new, ${counts.changed} changed, ${counts.equal} equal, ${counts.rejected} lines rejected`
    const reasons = Object.entries(rejected_reasons).map(([reason, count]) => `  ${count}  ${reason}`)
    return print(options, counts, [text, ...reasons].join('\n'))
  }
  const started = performance.now()
  const give_up_after_ms = options.retryFor * 1000
  const loaded = await loadCosts({ ...target, give_up_after_ms, show_progress: !options.json })
  const { rejected_path, rejected_reasons, ...total } = loaded
  const answer = { ...total, seconds: Math.round(performance.now() - started) / 1000 }
  const text = `${total.accepted} accepted, ${total.rejected} rejected, ${answer.seconds} s`
  print(options, answer, [text, ...describeRejected(rejected_reasons, rejected_path)].join('\n'))
  refuseAllRejected(total, rejected_reasons)
}

async function listCosts(options: ListCommandOptions): Promise<void> {
  const server_key = await keyOf(options)
  const client = createServerClient({
    ...requestDefaults,
    url: readConfig().url,
    server_key,
    retry: { attempts_max: 1 },
  })
  const { since, until } = options
  const { rows } = await readReport(client, 'costs', { since_ms: since, until_ms: until }).catch(throwCliError)
  const columns = columnsOf('costs')
  const cells = rows.map((row) => columns.map((column): unknown => Reflect.get(row, column)))
  print(options, { rows }, options.json ? '' : table(columns, cells))
}
