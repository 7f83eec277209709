import { auditLogRoutes } from '@tributary/contracts/admin/people/audit-log'
import { limits } from '@tributary/contracts/limits'
import type { Command } from 'commander'
import { admin, openAdmin } from '../../admin.ts'
import { instant, wholeNumber } from '../../arguments.ts'
import { print, table } from '../../output.ts'

interface AuditLogOptions {
  company?: string
  since?: number
  until?: number
  actor?: string
  action?: string
  subject?: string
  limit: number
  csv?: true
  json?: boolean
}

/** Adds `audit-log`. */
export function auditLogCommand(program: Command): void {
  program
    .command('audit-log')
    .description('show who changed what, the newest first')
    .option('--company <company_id>', 'only entries of this company')
    .option('--since <time>', 'only from this time on', instant)
    .option('--until <time>', 'only before this time', instant)
    .option('--actor <actor>', 'only of this person (email)')
    .option('--action <action>', 'only this action, or all that begin with it: key, key.create')
    .option('--subject <id>', 'only what was done to this')
    .option('--limit <entries>', 'entries to show', wholeNumber, 100)
    .option('--csv', `print CSV of up to ${limits.audit_log_csv_max} entries; --limit does not hold`)
    .action(async ({ json, csv, limit, company, since, until, ...same }: AuditLogOptions) => {
      const query = { company_id: company, since_ms: since, until_ms: until, ...same, limit }
      if (csv) return printCsv(query)
      const answer = await admin(auditLogRoutes.readAuditLog, { query })
      const head = ['time', 'actor', 'address', 'action', 'subject', 'before', 'after']
      const rows = answer.entries.map((one) => [
        ...[new Date(one.at_ms).toISOString(), one.actor, one.ip, one.action, one.subject, one.before, one.after],
      ])
      print({ json }, answer, table(head, rows))
    })
}

async function printCsv(query: object): Promise<void> {
  const answer = await openAdmin(auditLogRoutes.readAuditLog, { query: { ...query, format: 'csv' } })
  for await (const bytes of answer.body ?? []) process.stdout.write(bytes)
}
