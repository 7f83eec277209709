import type { ReportParams } from '@tributary/client/reports'
import { createServerClient } from '@tributary/client/server-client'
import type { EventsReport } from '@tributary/contracts/reports'
import type { Command } from 'commander'
import { instant, several, wholeNumber } from '../../arguments.ts'
import { readConfig } from '../../config.ts'
import { requestDefaults, throwCliError } from '../../http.ts'
import { print, table } from '../../output.ts'
import { readSecret, secretOption } from '../../secrets/secret-option.ts'

interface ReportOptions {
  key?: string
  keyFile?: string
  since?: number
  until?: number
  limit?: number
  offset?: number
  eventName?: string[]
  json?: boolean
}

/** Adds `reports events`. */
export function reportCommands(program: Command): void {
  const reports = program.command('reports').description('the reports of the app that a server key belongs to')
  const events = reports
    .command('events')
    .description('events, distinct installs and revenue by UTC day and event name')
    .option('--since <time>', 'start: YYYY-MM-DD (UTC), ISO time or Unix ms (default: 30 days ago)', instant)
    .option('--until <time>', 'exclusive end; same forms (default: now)', instant)
    .option('--limit <rows>', 'rows of a page, 1 to 1000 (default: 100)', wholeNumber)
    .option('--offset <rows>', 'rows to skip before the page', wholeNumber)
    .option('--event-name <name>', 'only rows of this event name; may be repeated', several)
    .action(async ({ key: given, keyFile: file, since, until, limit, offset, eventName, json }: ReportOptions) => {
      const key = await readSecret('key', { given, file }, 'TRIBUTARY_SERVER_KEY')
      const params = { since_ms: since, until_ms: until, limit, offset, event_name: eventName }
      const report = await eventsReport(key, params).catch(throwCliError)
      print({ json }, report, describe(report))
      warnOfMissingRates(report.meta)
      if (!json) hintAtMore(report)
    })
  secretOption(events, 'key', 'server key (srv_...)', 'TRIBUTARY_SERVER_KEY')
}

/** Reads the report without retries, so that a person at a terminal learns at once that the service is unreachable. */
async function eventsReport(server_key: string, params: ReportParams): Promise<EventsReport> {
  const { url } = readConfig()
  return createServerClient({ ...requestDefaults, url, server_key, retry: { attempts_max: 1 } }).report(
    'events',
    params,
  )
}

function describe({ rows }: EventsReport): string {
  const cells = rows.map((row) => [row.day, row.event_name, row.events, row.unique_installs, row.revenue_usd])
  return table(['day', 'event_name', 'events', 'unique_installs', 'revenue_usd'], cells)
}

/** Warns on stderr, because stdout holds only the rows. */
function warnOfMissingRates({ missing_rates }: EventsReport['meta']): void {
  if (missing_rates === undefined) return
  const lacking = `Warning: revenue_usd lacks the money in ${missing_rates.join(', ')}: no exchange rate.`
  process.stderr.write(`${lacking} Load rates with: tributary fx load FILE.csv\n`)
}

function hintAtMore({ rows, meta }: EventsReport): void {
  if (rows.length === meta.limit) process.stderr.write(`There may be more rows: --offset ${meta.offset + meta.limit}\n`)
}
