import { type Company, companyRoutes, type Plan, plans } from '@tributary/contracts/admin/companies'
import { type Command, Option } from 'commander'
import { admin } from '../../admin.ts'
import { wholeNumber } from '../../arguments.ts'
import { CliError, usageError } from '../../errors.ts'
import { confirm } from '../../ingest/look/confirm.ts'
import { lines, print, table } from '../../output.ts'

interface SetOptions {
  plan?: Plan
  quota?: number | 'unlimited'
  keepIpDays?: number
  keepClickDays?: number
  keepRawDays?: number | 'unlimited'
  yes?: boolean
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
    .option('--quota <events|unlimited>', 'a monthly quota instead of the quota of the plan', orUnlimited)
    .action(async ({ name, plan, quota, json }: SetOptions & { name: string }) => {
      const created = await admin(companyRoutes.createCompany, { body: { name, plan, monthly_quota: orNull(quota) } })
      print({ json }, created, lines({ ...created, monthly_quota: created.monthly_quota ?? 'unlimited' }))
    })
  company
    .command('list')
    .description('list all companies')
    .action(async (options: { json?: boolean }) => {
      const answer = await admin(companyRoutes.listCompanies)
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
      const found = await admin(companyRoutes.getCompany, { params: { id: company_id } })
      print(options, found, lines(shown(found)))
    })
  company
    .command('set')
    .description('change the plan, the quota or the retention of a company; a new plan sets its quota')
    .argument('<company_id>')
    .addOption(new Option('--plan <plan>', 'monthly quota by plan').choices(plans))
    .option('--quota <events|unlimited>', 'a monthly quota instead of the quota of the plan', orUnlimited)
    .option('--keep-ip-days <days>', 'blank addresses and user agents after these days: 1 to 3650', wholeNumber)
    .option('--keep-click-days <days>', 'delete clicks after these days: 1 to 90', wholeNumber)
    .option(
      '--keep-raw-days <days|unlimited>',
      'delete raw events and audit objects of requests after these days: 1 to 3650, or unlimited',
      orUnlimited,
    )
    .option('--yes', 'do not ask, however much --keep-raw-days deletes')
    .action(async (company_id: string, { json, yes, ...given }: SetOptions) => {
      if (Object.keys(given).length === 0) throw usageError('Give --plan, --quota or one of the --keep options.')
      const { plan, quota, keepIpDays, keepClickDays, keepRawDays } = given
      if (typeof keepRawDays === 'number' && !yes) await confirmDeletion(company_id, keepRawDays)
      const retention = { keep_ip_days: keepIpDays, keep_click_days: keepClickDays, keep_raw_days: orNull(keepRawDays) }
      const body = { plan, monthly_quota: orNull(quota), ...retention }
      const changed = await admin(companyRoutes.changeCompany, { params: { id: company_id }, body })
      print({ json }, changed, lines(shown(changed)))
    })
  company
    .command('usage')
    .description('show the accepted events of a month and the quota')
    .argument('<company_id>')
    .option('--month <yyyy-mm>', 'month in UTC (default: this month)')
    .action(async (company_id: string, { month, json }: { month?: string; json?: boolean }) => {
      const usage = await admin(companyRoutes.getCompanyUsage, { params: { id: company_id }, query: { month } })
      print(
        { json },
        usage,
        lines({
          ...usage,
          monthly_quota: usage.monthly_quota ?? 'unlimited',
          body_bytes_max: usage.body_bytes_max ?? 'unlimited',
        }),
      )
    })
  statusCommand(
    company,
    'suspend',
    companyRoutes.suspendCompany,
    'refuse all requests with the keys of a company, until reinstate',
  )
  statusCommand(company, 'reinstate', companyRoutes.reinstateCompany, 'accept the keys of a suspended company again')
}

/** A larger part of a company's raw events than this is not deleted by a slip of the hand. */
const deleted_part_max = 0.01

async function confirmDeletion(company_id: string, keep_raw_days: number): Promise<void> {
  const found = await admin(companyRoutes.getExpiring, {
    params: { id: company_id },
    query: { keep_raw_days: `${keep_raw_days}` },
  })
  const { raw_events, raw_events_expired } = found
  if (raw_events_expired <= raw_events * deleted_part_max) return
  const text = `The next night deletes ${raw_events_expired} of ${raw_events} raw events for good.`
  if (!(await confirm(`${text} Go on?`)))
    throw new CliError('not_confirmed', `${text} Nothing was changed. Add --yes if it is meant.`)
}

/** Commander makes an empty text of null. */
const orUnlimited = (text: string): number | 'unlimited' => (text === 'unlimited' ? text : wholeNumber(text))
const orNull = (value: number | 'unlimited' | undefined) => (value === 'unlimited' ? null : value)

const shown = ({ created_at_ms, ...company }: Company) => ({
  ...company,
  keep_raw_days: company.keep_raw_days ?? 'unlimited',
  monthly_quota: company.monthly_quota ?? 'unlimited',
  created: new Date(created_at_ms).toISOString(),
})

type StatusRoute = typeof companyRoutes.suspendCompany | typeof companyRoutes.reinstateCompany

function statusCommand(company: Command, verb: string, route: StatusRoute, description: string): void {
  company
    .command(verb)
    .description(description)
    .argument('<company_id>')
    .action(async (company_id: string, options: { json?: boolean }) => {
      const answer = await admin(route, { params: { id: company_id } })
      print(options, answer, `${answer.company_id} is ${answer.status}`)
    })
}
