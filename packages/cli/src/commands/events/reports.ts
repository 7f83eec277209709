import type { Report, ReportMeta, ReportParams } from '@tributary/client/reports'
import { createServerClient } from '@tributary/client/server-client'
import { filtersOf, type ReportName, reportNames, reports } from '@tributary/contracts/reports'
import { type Command, Option } from 'commander'
import { instant, several, wholeNumber } from '../../arguments.ts'
import { readConfig } from '../../config.ts'
import { requestDefaults, throwCliError } from '../../http.ts'
import { print, table } from '../../output.ts'
import { readSecret, secretOption } from '../../secrets/secret-option.ts'

interface ReportOptions extends Record<string, unknown> {
  key?: string
  keyFile?: string
  since?: number
  until?: number
  limit?: number
  offset?: number
  json?: boolean
}

/** Adds `reports NAME` for each declared report. */
export function reportCommands(program: Command): void {
  const group = program.command('reports').description('the reports of the app that a server key belongs to')
  for (const name of reportNames) reportCommand(group, name)
}

function reportCommand(group: Command, name: ReportName): void {
  const { summary, row } = reports[name]
  const command = group
    .command(name)
    .description(summary)
    .option('--since <time>', 'start: YYYY-MM-DD (UTC), ISO time or Unix ms (default: 30 days ago)', instant)
    .option('--until <time>', 'exclusive end; same forms (default: now)', instant)
    .option('--limit <rows>', 'rows of a page, 1 to 1000 (default: 100)', wholeNumber)
    .option('--offset <rows>', 'rows to skip before the page', wholeNumber)
  const filters = Object.entries(filtersOf(name)).map(([field, { description = '' }]) => {
    const option = new Option(`--${field.replaceAll('_', '-')} <value>`, description).argParser<string[]>(several)
    command.addOption(option)
    return { field, attribute: option.attributeName() }
  })
  command.action(
    async ({ key: given, keyFile: file, since, until, limit, offset, json, ...options }: ReportOptions) => {
      const key = await readSecret('key', { given, file }, 'TRIBUTARY_SERVER_KEY')
      const params = { since_ms: since, until_ms: until, limit, offset }
      const filtered = Object.fromEntries(filters.map(({ field, attribute }) => [field, options[attribute]]))
      const report = await askReport(name, key, { ...params, ...filtered }).catch(throwCliError)
      const columns = Object.keys(row.shape)
      const cells = report.rows.map((one) => columns.map((column) => new Map(Object.entries(one)).get(column)))
      print({ json }, report, table(columns, cells))
      warnOfMissingRates(report.meta)
      if (!json) hintAtMore(report)
    },
  )
  secretOption(command, 'key', 'server key (srv_...)', 'TRIBUTARY_SERVER_KEY')
}

/** Reads the report without retries, so that a person at a terminal learns at once that the service is unreachable. */
async function askReport<N extends ReportName>(name: N, server_key: string, params: ReportParams): Promise<Report<N>> {
  const { url } = readConfig()
  return createServerClient({ ...requestDefaults, url, server_key, retry: { attempts_max: 1 } }).report(name, params)
}

/** Warns on stderr, because stdout holds only the rows. */
function warnOfMissingRates({ missing_rates }: ReportMeta): void {
  if (missing_rates === undefined) return
  const lacking = `Warning: revenue_usd lacks the money in ${missing_rates.join(', ')}: no exchange rate.`
  process.stderr.write(`${lacking} Load rates with: tributary fx load FILE.csv\n`)
}

function hintAtMore({ rows, meta }: Report<ReportName>): void {
  if (rows.length === meta.limit) process.stderr.write(`There may be more rows: --offset ${meta.offset + meta.limit}\n`)
}
