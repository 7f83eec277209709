import { Company, CompanyCreated, CompanyStatus, CompanyUsage, plans } from '@tributary/contracts/admin'
import { type Command, Option } from 'commander'
import { z } from 'zod'
import { admin } from '../admin.ts'
import { wholeNumber } from '../arguments.ts'
import { lines, print, table } from '../output.ts'

const CompanyList = z.object({ companies: z.array(Company) })

interface CreateOptions {
  name: string
  plan?: string
  quota?: number
  json?: boolean
}

/** `company create|list|usage|suspend|reinstate`. */
export function companyCommands(program: Command): void {
  const company = program.command('company').description('tenants: create, list, usage, suspend, reinstate')
  company
    .command('create')
    .description('create a company')
    .requiredOption('--name <name>', 'what people call it')
    .addOption(new Option('--plan <plan>', 'monthly quota by plan').choices(plans).default('free'))
    .option('--quota <events>', 'a monthly quota of its own', wholeNumber)
    .action(async ({ name, plan, quota, json }: CreateOptions) => {
      const created = await admin('companies', CompanyCreated, { name, plan, monthly_quota: quota })
      print({ json }, created, lines({ ...created, monthly_quota: created.monthly_quota ?? 'unlimited' }))
    })
  company
    .command('list')
    .description('list all companies')
    .action(async (options: { json?: boolean }) => {
      const answer = await admin('companies', CompanyList)
      const head = ['company_id', 'name', 'plan', 'monthly_quota', 'status', 'company_key']
      const rows = answer.companies.map((one) => [
        one.company_id,
        one.name,
        one.plan,
        one.monthly_quota ?? 'unlimited',
        one.status,
        one.company_key,
      ])
      print(options, answer, table(head, rows))
    })
  company
    .command('usage')
    .description('accepted events of a month, and how many it may have')
    .argument('<company_id>')
    .option('--month <yyyy-mm>', 'this month by default (UTC)')
    .action(async (company_id: string, { month, json }: { month?: string; json?: boolean }) => {
      const query = month === undefined ? '' : `?month=${encodeURIComponent(month)}`
      const usage = await admin(`companies/${encodeURIComponent(company_id)}/usage${query}`, CompanyUsage)
      print({ json }, usage, lines({ ...usage, monthly_quota: usage.monthly_quota ?? 'unlimited' }))
    })
  statusCommand(company, 'suspend', 'refuse all requests with the keys of a company')
  statusCommand(company, 'reinstate', 'take a suspended company back')
}

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
