import type { Report, ReportParams } from '@tributary/client/reports'
import { createServerClient, type ServerClient } from '@tributary/client/server-client'
import { limits } from '@tributary/contracts/limits'
import {
  default_dimensions,
  type ReportDimension,
  type ReportGroup,
  reportDimensions,
  reportGroups,
  reportPeriods,
} from '@tributary/contracts/report-parameters'
import {
  columnsOf,
  daysOf,
  filtersOf,
  isGrouped,
  parametersOf,
  type ReportName,
  reportNames,
  reports,
} from '@tributary/contracts/reports'
import { type Command, Option } from 'commander'
import { byComma, instant, instant_forms, several, wholeNumber, wholeNumberUpTo } from '../../arguments.ts'
import { readConfig } from '../../config.ts'
import { usageError } from '../../errors.ts'
import { requestDefaults, throwCliError } from '../../http.ts'
import { print, table } from '../../output.ts'
import { hasColours } from '../../reports/heat.ts'
import { printCsv } from '../../reports/print-csv.ts'
import { readReport } from '../../reports/read-report.ts'
import { reportTable } from '../../reports/report-table.ts'
import { readSecret, secretOption } from '../../secrets/secret-option.ts'

interface ReportOptions extends Record<string, unknown> {
  key?: string
  keyFile?: string
  since?: number
  until?: number
  group?: ReportGroup
  days?: number[]
  by?: ReportDimension[]
  sort?: string
  filter?: string[]
  limit?: number
  all?: boolean
  offset?: number
  csv?: boolean
  json?: boolean
}

/** Adds `reports NAME` for each declared report. */
export function reportCommands(program: Command): void {
  const group = program.command('reports').description('the reports of the app that a server key belongs to')
  for (const name of reportNames) reportCommand(group, name)
}

function reportCommand(parent: Command, name: ReportName): void {
  const command = parent
    .command(name)
    .description(reports[name].summary)
    .option('--since <time>', `start: ${instant_forms} (default: 30 days ago)`, instant)
    .option('--until <time>', 'exclusive end; same forms (default: now)', instant)
    .addOption(
      new Option('--group <period>', 'period of a row (default: day)').choices(
        isGrouped(name) ? reportGroups : reportPeriods,
      ),
    )
  if (isGrouped(name)) {
    command
      .option('--by <field,field>', `what rows are of, besides the period: ${by_meaning}`, byComma)
      .option('--sort <field>', 'field of the rows to order by; --sort=-field from the greatest down')
  }
  if ('days' in parametersOf(name).shape) {
    command.option('--days <n,n>', daysMeaning(name), dayNumbers)
  }
  const filters = Object.entries(filtersOf(name)).map(([field, { description = '' }]) => {
    const option = new Option(`--${field.replaceAll('_', '-')} <value>`, description).argParser<string[]>(several)
    command.addOption(option)
    return { field, attribute: option.attributeName() }
  })
  const fields = filters.map(({ field }) => field)
  if (fields.length > 0) command.option('--filter <field=value>', 'a filter by the name of its field', several)
  command
    .option('--limit <rows>', 'only a page of this many rows, 1 to 1000 (default: all rows)', wholeNumber)
    .option('--all', 'all rows, whatever --limit says')
    .option('--offset <rows>', 'rows to skip', wholeNumber)
    .addOption(new Option('--csv', 'print CSV as it comes').conflicts('json'))
  command.action(async ({ key: given, keyFile: file, ...options }: ReportOptions) => {
    const key = await readSecret('key', { given, file }, 'TRIBUTARY_SERVER_KEY')
    const { since, until, group, days, by, sort, all, offset } = options
    const limit = all ? undefined : options.limit
    const also = readFilters(options.filter ?? [], fields)
    const filtered = Object.fromEntries(
      filters.map(({ field, attribute }) => [
        field,
        joined(options[attribute] as string[] | undefined, also.get(field)),
      ]),
    )
    const params = { since_ms: since, until_ms: until, limit, offset, group, days, by, sort, ...filtered }
    await showReport(openClient(key), name, params, options).catch(throwCliError)
  })
  secretOption(command, 'key', 'server key (srv_...)', 'TRIBUTARY_SERVER_KEY')
  if (name === 'cohorts') command.addHelpText('after', retention_help)
  command.addHelpText('after', name === 'skan' ? skanHelp : help)
}

/** The values of `--filter field=value` by their field. Throws a usage error. */
function readFilters(texts: readonly string[], fields: readonly string[]): Map<string, string[]> {
  const filters = new Map<string, string[]>()
  for (const text of texts) {
    const at = text.indexOf('=')
    const field = text.slice(0, at)
    if (at < 1 || !fields.includes(field)) {
      throw usageError(`--filter ${text}: the form is field=value, with one of ${fields.join(', ')}.`)
    }
    filters.set(field, [...(filters.get(field) ?? []), text.slice(at + 1)])
  }
  return filters
}

const joined = (some: string[] | undefined, more: string[] | undefined): string[] | undefined =>
  some === undefined && more === undefined ? undefined : [...(some ?? []), ...(more ?? [])]

const retention_help = `
dN counts installs with an event in the 24 hours that begin N x 24 hours after the install, not on the Nth calendar day:
who installs at 20:00 and comes back at 09:00 the next morning counts for d0 alone. docs/api.md#reports tells more.`
const help = `
Money is in USD. docs/api.md#reports tells the parameters, docs/rules.md#reports what each column counts.`
const skanHelp = `
One row counts postbacks of one day of receipt. docs/skan.md#read-the-report tells what each column counts. A report without rows
may lack the store id of its app: tributary app list shows it.`

/** Says which days are there without the option. */
function daysMeaning(name: ReportName): string {
  const [alone, besides] = [daysOf(name).join(', '), daysOf(name, []).join(', ')]
  const also = besides === '' ? `default: ${alone || 'none'}` : `always also ${besides}`
  return `up to ${limits.report_days_max} days since the install, such as 0,1,3,7,14,30,60,90 (${also})`
}

const by_meaning = `up to ${limits.report_dimensions_max} of ${reportDimensions.join(', ')} (default: ${default_dimensions.join(',')})`

const dayNumbers = (text: string): number[] => byComma(text).map(wholeNumberUpTo(limits.report_day_max))

/** A client without retries, so that a person at a terminal learns at once that the service is unreachable. */
const openClient = (server_key: string): ServerClient =>
  createServerClient({ ...requestDefaults, url: readConfig().url, server_key, retry: { attempts_max: 1 } })

/** Prints the report in the form of the options, and warnings. */
async function showReport(client: ServerClient, name: ReportName, params: ReportParams, { csv, json }: ReportOptions) {
  if (csv) return warnOfMissingRates(await printCsv(client, name, params))
  const report = await readReport(client, name, params)
  const { rows, meta } = report
  print({ json: json === true }, report, json ? '' : textOf(name, params, report))
  warnOfMissingRates(meta.missing_rates)
  if (json) return
  if (meta.hint !== undefined) process.stderr.write(`Warning: ${meta.hint}\n`)
  if (meta.more) {
    process.stderr.write(
      `${rows.length} of ${meta.rows} rows: --all shows all, --offset ${meta.offset + rows.length} the next\n`,
    )
  }
}

/** A table on a terminal, else lines of cells as they are. */
function textOf(name: ReportName, params: ReportParams, { rows, meta }: Report<ReportName>): string {
  const { group = 'day' } = params
  const columns = columnsOf(name, params)
  if (process.stdout.isTTY) return reportTable({ columns, rows, meta, group, hasColours: hasColours() })
  return table(
    columns,
    rows.map((row) => columns.map((column): unknown => Reflect.get(row, column))),
  )
}

/** Warns on stderr, because stdout holds only the rows. */
function warnOfMissingRates(missing_rates: readonly string[] = []): void {
  if (missing_rates.length === 0) return
  const lacking = `Warning: revenue_usd lacks the money in ${missing_rates.join(', ')}: no exchange rate.`
  process.stderr.write(`${lacking} Load rates with: tributary fx load FILE.csv\n`)
}
