import { EventsReport } from '@tributary/contracts/reports'
import type { Command } from 'commander'
import { read } from '../admin.ts'
import { instant, wholeNumber } from '../arguments.ts'
import { readConfig } from '../config.ts'
import { request } from '../http.ts'
import { print, table } from '../output.ts'

interface ReportOptions {
  key: string
  since?: number
  until?: number
  limit?: number
  offset?: number
  json?: boolean
}

/** `reports events`. */
export function reportCommands(program: Command): void {
  const reports = program.command('reports').description('the reports of the app that a server key belongs to')
  reports
    .command('events')
    .description('events, distinct installs and revenue by UTC day and event name')
    .requiredOption('--key <key>', 'server key (srv_...)')
    .option('--since <time>', 'first moment: YYYY-MM-DD (UTC), ISO time or Unix ms (default: 30 days ago)', instant)
    .option('--until <time>', 'first moment no longer covered; same forms (default: now)', instant)
    .option('--limit <rows>', 'rows of a page, 1 to 1000 (default: 100)', wholeNumber)
    .option('--offset <rows>', 'rows to leave out before the page', wholeNumber)
    .action(async ({ key, since, until, limit, offset, json }: ReportOptions) => {
      const given = Object.entries({ since_ms: since, until_ms: until, limit, offset })
      const sent = given.flatMap(([name, n]): [string, string][] => (n === undefined ? [] : [[name, String(n)]]))
      const query = new URLSearchParams(sent)
      const headers = { authorization: `Bearer ${key}` }
      const answer = await request(`${readConfig().url}/api/v1/reports/events?${query}`, { headers })
      const report = read(answer, EventsReport)
      print({ json }, report, describe(report))
    })
}

function describe({ rows, meta }: EventsReport): string {
  const cells = rows.map((row) => [row.day, row.event_name, row.events, row.unique_installs, row.revenue_usd])
  const more = rows.length === meta.limit ? `\nThere may be more: --offset ${meta.offset + meta.limit}` : ''
  return table(['day', 'event_name', 'events', 'unique_installs', 'revenue_usd'], cells) + more
}
