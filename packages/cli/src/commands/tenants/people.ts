import { type Person, peopleRoutes } from '@tributary/contracts/admin/people/people'
import { type Role, roles } from '@tributary/contracts/admin/people/roles'
import { type Command, Option } from 'commander'
import { admin } from '../../admin.ts'
import { several } from '../../arguments.ts'
import { list, print } from '../../output.ts'

interface InviteOptions {
  email: string
  role: Role
  company?: string
  app?: string[]
  json?: boolean
}

interface OfCompany {
  company?: string
  json?: boolean
}

/** Adds `admin invite|list|change|remove|reset`. */
export function peopleCommands(program: Command): void {
  const people = program.command('admin').description('people of the admin panel: invite, list, change, remove, reset')
  membershipOptions(
    people.command('invite').description('make a link by which a person gets a role; it is shown once'),
  ).action(async ({ json, ...given }: InviteOptions) => {
    const answer = await admin(peopleRoutes.invitePerson, { body: bodyOf(given) })
    print({ json }, answer, linkText(answer.invitation_url, answer.expires_at_ms))
  })
  people
    .command('list')
    .description('list people with their roles, and open invitations')
    .option('--company <company_id>', 'the people of this company (default: all)')
    .action(async ({ company, json }: OfCompany) => {
      const answer = await admin(peopleRoutes.listPeople, { query: { company_id: company } })
      const head = ['email', 'role', 'company_id', 'apps', 'status', '2nd factor', 'last seen']
      print({ json }, answer, list(head, answer.people.map(rowOf)))
    })
  membershipOptions(people.command('change').description('change the role of a person in a company')).action(
    async ({ json, ...given }: InviteOptions) => {
      const answer = await admin(peopleRoutes.changePerson, { body: bodyOf(given) })
      print({ json }, answer, `${answer.email} is ${given.role} now`)
    },
  )
  people
    .command('remove')
    .description('take the role of a person away; an account without any role is deleted')
    .argument('<email>')
    .option('--company <company_id>', 'the role in this company (default: that of an operator)')
    .action(async (email: string, { company, json }: OfCompany) => {
      const answer = await admin(peopleRoutes.removePerson, { body: { email, company_id: company } })
      print({ json }, answer, `${answer.email} is ${answer.status}`)
    })
  people
    .command('reset')
    .description('make a link by which a person sets a new password; it is shown once')
    .argument('<email>')
    .option('--second-factor', 'also remove the second factor, for whoever lost it')
    .action(async (email: string, { secondFactor, json }: { secondFactor?: true; json?: boolean }) => {
      const answer = await admin(peopleRoutes.resetPerson, { body: { email, second_factor: secondFactor } })
      print({ json }, answer, linkText(answer.reset_url, answer.expires_at_ms))
    })
}

const membershipOptions = (command: Command): Command =>
  command
    .requiredOption('--email <email>', 'address of the person')
    .addOption(new Option('--role <role>', 'role of the person').choices(roles).makeOptionMandatory())
    .option('--company <company_id>', 'the company of the role; none for an operator')
    .option('--app <app_id>', 'limit the role to this app of the company (may be repeated)', several)

const bodyOf = ({ email, role, company, app }: Omit<InviteOptions, 'json'>) => ({
  ...{ email, role, company_id: company, app_ids: app },
})

function linkText(url: string | null, expires_at_ms: number): string {
  const until = new Date(expires_at_ms).toISOString()
  return url === null
    ? `The link was mailed. It works once, until ${until}.`
    : `${url}\nIt works once, until ${until}, and is not shown again.`
}

const rowOf = (one: Person): unknown[] => [
  ...[one.email, one.role, one.company_id, one.apps, one.status, one.second_factor ? 'on' : 'off'],
  one.last_seen_at_ms === null ? null : new Date(one.last_seen_at_ms).toISOString(),
]
