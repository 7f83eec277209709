import { Company, CompanyCreated, CompanyList, CompanyStatus, CompanyUsage, plans } from '@tributary/contracts/admin'
import { type Command, Option } from 'commander'
import { admin } from '../../admin.ts'
import { wholeNumber } from '../../arguments.ts'
import { usageError } from '../../errors.ts'
import { lines, print, table } from '../../output.ts'

interface SetOptions {
  plan?: string
  quota?: number
  json?: boolean
}

/** Adds `company create|list|show|set|usage|suspend|reinstate`. */
export function companyCommands(program: Command): void {
  const company = program
    .command('company')
    .description('companies: create, list, show, set, usage, suspend, reinstate')
  company
    .command('create')
    .description('create a company')
    .requiredOption('--name <name>', 'what people call it')
    .addOption(new Option('--plan <plan>', 'plan with its monthly quota').choices(plans).default('free'))
    .option('--quota <events>', 'a monthly quota instead of the quota of the plan', wholeNumber)
    .action(async ({ name, plan, quota, json }: SetOptions & { name: string }) => {
      const created = await admin('companies', CompanyCreated, { name, plan, monthly_quota: quota })
      print({ json }, created, lines({ ...created, monthly_quota: created.monthly_quota ?? 'unlimited' }))
    })
  company
    .command('list')
    .description('list all companies')
    .action(async (options: { json?: boolean }) => {
      const answer = await admin('companies', CompanyList)
      const head = ['company_id', 'name', 'plan', 'monthly_quota', 'status', 'company_key', 'created']
      const rows = answer.companies.map((one) => [
        one.company_id,
        one.name,
        one.plan,
        one.monthly_quota ?? 'unlimited',
        one.status,
        one.company_key,
        new Date(one.created_at_ms).toISOString(),
      ])
      print(options, answer, table(head, rows))
    })
  company
    .command('show')
    .description('show one company')
    .argument('<company_id>')
    .action(async (company_id: string, options: { json?: boolean }) => {
      const found = await admin(`companies/${encodeURIComponent(company_id)}`, Company)
      print(options, found, lines(shown(found)))
    })
  company
    .command('set')
    .description('change the plan or the quota of a company; a new plan sets its quota')
    .argument('<company_id>')
    .addOption(new Option('--plan <plan>', 'monthly quota by plan').choices(plans))
    .option('--quota <events>', 'a monthly quota instead of the quota of the plan', wholeNumber)
    .action(async (company_id: string, { plan, quota, json }: SetOptions) => {
      if (plan === undefined && quota === undefined) throw usageError('Give --plan or --quota.')
      const body = { plan, monthly_quota: quota }
      const changed = await admin(`companies/${encodeURIComponent(company_id)}`, Company, body, 'PATCH')
      print({ json }, changed, lines(shown(changed)))
    })
  company
    .command('usage')
    .description('show the accepted events of a month and the quota')
    .argument('<company_id>')
    .option('--month <yyyy-mm>', 'month in UTC (default: this month)')
    .action(async (company_id: string, { month, json }: { month?: string; json?: boolean }) => {
      const query = month === undefined ? '' : `?month=${encodeURIComponent(month)}`
      const usage = await admin(`companies/${encodeURIComponent(company_id)}/usage${query}`, CompanyUsage)
      print({ json }, usage, lines({ ...usage, monthly_quota: usage.monthly_quota ?? 'unlimited' }))
    })
  statusCommand(company, 'suspend', 'refuse all requests with the keys of a company, until reinstate')
  statusCommand(company, 'reinstate', 'accept the keys of a suspended company again')
}

const shown = ({ created_at_ms, ...company }: Company) => ({
  ...company,
  monthly_quota: company.monthly_quota ?? 'unlimited',
  created: new Date(created_at_ms).toISOString(),
})

function statusCommand(company: Command, verb: 'suspend' | 'reinstate', description: string): void {
  company
    .command(verb)
    .description(description)
    .argument('<company_id>')
    .action(async (company_id: string, options: { json?: boolean }) => {
      const answer = await admin(`companies/${encodeURIComponent(company_id)}/${verb}`, CompanyStatus, {})
      print(options, answer, `${answer.company_id} is ${answer.status}`)
    })
}
