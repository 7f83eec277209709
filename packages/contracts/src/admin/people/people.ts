import { z } from 'zod'
import { limits } from '../../limits.ts'
import type { Routes } from '../../routes/route.ts'
import { created_at_ms, text } from '../admin-fields.ts'
import { Membership, roles } from './roles.ts'

/** An address of mail; only its shape is checked. */
export const email = z
  .string()
  .trim()
  .max(limits.email_chars_max)
  .regex(/^[^\s@\p{Cc}<>,;:"()[\]\\]{1,64}@[^\s@\p{Cc}<>,;:"()[\]\\]{1,190}$/u, 'must be an address of mail')

const apps = z
  .array(text(64))
  .min(1)
  .max(200)
  .optional()
  .describe('Limits the role to these apps of the company; absent: all of it. An owner has all of it.')
const role = z.enum(roles).describe('`operator` stands above companies; each other role is held in one.')
const company_id = text(64).optional().describe('The company of the role; absent for an operator.')

const InvitePerson = z.strictObject({ email, role, company_id, app_ids: apps })
export type InvitePerson = z.infer<typeof InvitePerson>

export const Invited = z.object({
  invitation_url: z
    .string()
    .nullable()
    .describe('Works once, for 24 hours; shown here only. What follows `#` is the secret. null: it was mailed.'),
  expires_at_ms: z.number().int(),
})
export type Invited = z.infer<typeof Invited>

const ChangePerson = z.strictObject({ email, role, company_id, app_ids: apps })
export type ChangePerson = z.infer<typeof ChangePerson>

const RemovePerson = z.strictObject({ email, company_id })
const PersonStatus = z.object({ email: z.string(), status: z.enum(['changed', 'removed']) })
export type PersonStatus = z.infer<typeof PersonStatus>

const ResetPerson = z.strictObject({
  email,
  second_factor: z.boolean().default(false).describe('Also removes the second factor, for whoever lost it.'),
})
const ResetMade = z.object({
  reset_url: z.string().nullable().describe('As `invitation_url`.'),
  expires_at_ms: z.number().int(),
})

const Person = z.object({
  person_id: z.string(),
  email: z.string(),
  status: z.enum(['active', 'invited']).describe('`invited`: the invitation waits for its use.'),
  ...Membership.shape,
  second_factor: z.boolean(),
  last_seen_at_ms: z.number().int().nullable().describe('The newest request of a session that is open; null without.'),
  created_at_ms: z.number().int(),
})
export type Person = z.infer<typeof Person>

const ofCompany = z.object({
  company_id: text(64)
    .optional()
    .meta({ description: 'The people of this company; absent: those of all, for operators.', example: 'co_1' }),
})
const example = { email: 'ada@example.com', role: 'analyst', company_id: 'co_1' } as const
const changed = (status: PersonStatus['status']) => ({
  200: {
    schema: { PersonStatus },
    description: 'What was done.',
    example: { email: example.email, status } satisfies PersonStatus,
  },
})

/** The routes by which owners and operators manage people. */
export const peopleRoutes = {
  invitePerson: {
    method: 'POST',
    path: '/admin/api/v1/people/invite',
    auth: 'admin',
    roles: ['owner', 'operator'],
    over: 'company of body',
    tag: 'Admin',
    summary: 'Invite a person',
    description:
      'Makes a link that works once. It makes the account where none has this address; to an account that exists it adds the role after a sign-in, and changes no password. Invite again to replace a link. With a mail server the link is mailed and not shown; if the mail fails, nothing changes.',
    body: { schema: { InvitePerson }, examples: { example } },
    answers: {
      200: {
        schema: { Invited },
        description: 'The link.',
        example: {
          invitation_url: 'https://panel.example.com/admin/invitation#inv_...',
          expires_at_ms: created_at_ms + limits.one_time_link_ms,
        } satisfies Invited,
      },
    },
    errors: ['unknown_company', 'unknown_app', 'mail_failed'],
  },
  listPeople: {
    method: 'GET',
    path: '/admin/api/v1/people',
    auth: 'admin',
    roles: ['owner', 'operator'],
    over: 'company of query',
    tag: 'Admin',
    summary: 'People and their roles',
    query: ofCompany,
    answers: {
      200: {
        schema: { PeopleList: z.object({ people: z.array(Person) }) },
        description: 'One entry a role; open invitations too.',
        example: {
          people: [
            {
              ...{ person_id: 'per_1', ...example, apps: null, status: 'active', second_factor: true },
              ...{ last_seen_at_ms: created_at_ms, created_at_ms },
            },
          ],
        },
      },
    },
    errors: ['unknown_company'],
  },
  changePerson: {
    method: 'POST',
    path: '/admin/api/v1/people/change',
    auth: 'admin',
    roles: ['owner', 'operator'],
    over: 'company of body',
    tag: 'Admin',
    summary: 'Change the role of a person',
    description: 'Acts within a second, on open sessions too.',
    body: { schema: { ChangePerson }, examples: { example } },
    answers: changed('changed'),
    errors: ['unknown_company', 'unknown_app', 'unknown_person', 'last_of_role'],
  },
  removePerson: {
    method: 'POST',
    path: '/admin/api/v1/people/remove',
    auth: 'admin',
    roles: ['owner', 'operator'],
    over: 'company of body',
    tag: 'Admin',
    summary: 'Take the role of a person away',
    description:
      'Takes the role in a company, or that of an operator where no company is named, and open invitations to it. An account without any role is deleted. Acts within a second.',
    body: { schema: { RemovePerson }, examples: { example: { email: example.email, company_id: 'co_1' } } },
    answers: changed('removed'),
    errors: ['unknown_company', 'unknown_person', 'last_of_role'],
  },
  resetPerson: {
    method: 'POST',
    path: '/admin/api/v1/people/reset',
    auth: 'admin',
    roles: ['operator'],
    tag: 'Admin',
    summary: 'Let a person set a new password',
    description:
      'Makes a link that works once. Its use ends every session of the person. It is mailed like an invitation.',
    body: { schema: { ResetPerson }, examples: { example: { email: example.email } } },
    answers: {
      200: {
        schema: { ResetMade },
        description: 'The link.',
        example: {
          reset_url: 'https://panel.example.com/admin/reset#rst_...',
          expires_at_ms: created_at_ms + limits.one_time_link_ms,
        },
      },
    },
    errors: ['unknown_person', 'mail_failed'],
  },
} satisfies Routes
