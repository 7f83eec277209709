import { z } from 'zod'
import { limits } from '../limits.ts'
import type { Routes } from '../routes/route.ts'
import { created_at_ms, name, pathId } from './admin-fields.ts'
import { managers, roles } from './people/roles.ts'

export const plans = ['free', 'growth', 'scale', 'unlimited'] as const
export type Plan = (typeof plans)[number]

/** Events per UTC month; null is unlimited (docs/rules.md#quota). */
export const planQuota: Record<Plan, number | null> = {
  free: 1_000_000,
  growth: 50_000_000,
  scale: 1_000_000_000,
  unlimited: null,
}

const ownQuota = z
  .number()
  .int()
  .min(0)
  .max(Number.MAX_SAFE_INTEGER)
  .nullable()
  .optional()
  .describe('Events per UTC month, instead of those of the plan; null is unlimited.')

export const CreateCompany = z.strictObject({ name, plan: z.enum(plans).default('free'), monthly_quota: ownQuota })
export type CreateCompany = z.infer<typeof CreateCompany>

const days = (max: number) => z.number().int().min(1).max(max)

/** How long the data of a company is kept (docs/privacy.md#retention). Days are counted in whole UTC days. */
export const Retention = z.object({
  keep_ip_days: days(limits.keep_days_max).describe('Days after which raw addresses and user agents are blanked.'),
  keep_click_days: days(limits.keep_click_days_max).describe('Days after which clicks are deleted.'),
  keep_raw_days: days(limits.keep_days_max)
    .nullable()
    .describe('Days after which raw events and their audit objects are deleted; null keeps them.'),
})
export type Retention = z.infer<typeof Retention>

/** The retention of a company that was never given any. */
export const defaultRetention: Retention = {
  keep_ip_days: 30,
  keep_click_days: limits.keep_click_days_max,
  keep_raw_days: null,
}

export const ChangeCompany = z.strictObject({
  plan: z.enum(plans).optional().describe('Brings its quota, unless `monthly_quota` is given too.'),
  monthly_quota: ownQuota,
  ...Retention.partial().shape,
})
export type ChangeCompany = z.infer<typeof ChangeCompany>

export const Company = z.object({
  company_id: z.string(),
  company_key: z.string(),
  name: z.string(),
  plan: z.enum(plans),
  monthly_quota: z.number().int().nullable().describe('Events per UTC month; null is unlimited.'),
  status: z.enum(['active', 'suspended']),
  ...Retention.shape,
  created_at_ms: z.number().int(),
})
export type Company = z.infer<typeof Company>

const CompanyList = z.object({ companies: z.array(Company) })

export const CompanyCreated = Company.pick({ company_id: true, company_key: true, plan: true, monthly_quota: true })
export type CompanyCreated = z.infer<typeof CompanyCreated>

export const CompanyStatus = Company.pick({ company_id: true, status: true })
export type CompanyStatus = z.infer<typeof CompanyStatus>

const CompanyUsage = z.object({
  company_id: z.string(),
  month: z.string().describe('`yyyy-mm`, UTC.'),
  used: z.number().int().describe('Accepted events of the month.'),
  rejected: z.number().int().describe('Rejected events of the month, which may be as many as the quota.'),
  body_bytes: z.number().int().describe('Bytes of request bodies of the month; 0 without a quota.'),
  monthly_quota: z.number().int().nullable(),
  body_bytes_max: z
    .number()
    .int()
    .nullable()
    .describe('Bytes of request bodies that the quota allows; null is unlimited.'),
})
export type CompanyUsage = z.infer<typeof CompanyUsage>

/** Rows that a shorter `keep_raw_days` would delete. Events that are on their way are not counted. */
export const Expiring = z.object({
  keep_raw_days: z.number().int(),
  raw_events: z.number().int().describe('Raw events of the company.'),
  raw_events_expired: z.number().int().describe('Those of them that the next run of retention would delete.'),
})

const params = pathId('company', 'co_1')
const expiringQuery = z.object({
  keep_raw_days: z
    .string()
    .regex(/^[1-9]\d{0,3}$/, 'It must be a whole number of days from 1.')
    .transform(Number)
    .meta({ description: 'Days that would be kept.', example: '30' }),
})
const usageQuery = z.object({
  month: z
    .string()
    .regex(/^20\d\d-(0[1-9]|1[0-2])$/, 'A month is yyyy-mm.')
    .optional()
    .meta({ description: '`yyyy-mm`, UTC; the present month by default.', example: '2026-06' }),
})
const created = {
  company_id: 'co_1',
  company_key: `co_live_${'0'.repeat(32)}`,
  plan: 'growth',
  monthly_quota: 50_000_000,
} satisfies CompanyCreated
const company = {
  ...{ ...created, name: 'Example Games', status: 'active', created_at_ms },
  ...defaultRetention,
} satisfies Company
const companyNow = { schema: { Company }, description: 'The company as it is now.', example: company }
const statusNow = (status: Company['status']) => ({
  schema: { CompanyStatus },
  description: 'The state of the company now.',
  example: { company_id: 'co_1', status } satisfies CompanyStatus,
})

/** The routes of companies and their use. */
export const companyRoutes = {
  createCompany: {
    method: 'POST',
    path: '/admin/api/v1/companies',
    auth: 'admin',
    roles: ['operator'],
    tag: 'Admin',
    summary: 'Make a company',
    body: { schema: { CreateCompany }, examples: { example: { name: 'Example Games', plan: 'growth' } } },
    answers: { 200: { schema: { CompanyCreated }, description: 'The company.', example: created } },
  },
  listCompanies: {
    method: 'GET',
    path: '/admin/api/v1/companies',
    auth: 'admin',
    roles,
    tag: 'Admin',
    summary: 'All companies',
    answers: {
      200: {
        schema: { CompanyList },
        description: 'In the order in which they were made.',
        example: { companies: [company] },
      },
    },
  },
  getCompany: {
    method: 'GET',
    path: '/admin/api/v1/companies/:id',
    auth: 'admin',
    roles,
    over: 'company of path',
    limited: true,
    tag: 'Admin',
    summary: 'One company',
    params,
    answers: { 200: companyNow },
    errors: ['unknown_company'],
  },
  changeCompany: {
    method: 'PATCH',
    path: '/admin/api/v1/companies/:id',
    auth: 'admin',
    roles: [...managers, 'operator'],
    over: 'company of path',
    fields: {
      ...{ plan: ['operator'], monthly_quota: ['operator'] },
      ...{ keep_ip_days: managers, keep_click_days: managers, keep_raw_days: managers },
    },
    tag: 'Admin',
    summary: 'Change the plan, the quota or the retention of a company',
    description:
      'Changes what is given and nothing else, for all gateways at once. A plan brings its quota; `monthly_quota`, with it or later, replaces that. A changed retention acts on what is stored in the next night, also when it was shortened; what was removed does not come back.',
    params,
    body: { schema: { ChangeCompany }, examples: { example: { plan: 'growth' } } },
    answers: { 200: companyNow },
    errors: ['unknown_company'],
  },
  suspendCompany: {
    method: 'POST',
    path: '/admin/api/v1/companies/:id/suspend',
    auth: 'admin',
    roles: ['operator'],
    over: 'company of path',
    tag: 'Admin',
    summary: 'Suspend a company',
    description: 'Within 10 s all its keys answer `company_suspended`. May be repeated.',
    params,
    answers: { 200: statusNow('suspended') },
    errors: ['unknown_company'],
  },
  reinstateCompany: {
    method: 'POST',
    path: '/admin/api/v1/companies/:id/reinstate',
    auth: 'admin',
    roles: ['operator'],
    over: 'company of path',
    tag: 'Admin',
    summary: 'Reinstate a company',
    description: 'Its keys work again. May be repeated.',
    params,
    answers: { 200: statusNow('active') },
    errors: ['unknown_company'],
  },
  getExpiring: {
    method: 'GET',
    path: '/admin/api/v1/companies/:id/expiring',
    auth: 'admin',
    roles: managers,
    over: 'company of path',
    tag: 'Admin',
    summary: 'What a shorter retention would delete',
    params,
    query: expiringQuery,
    answers: {
      200: {
        schema: { Expiring },
        description: 'It changes nothing.',
        example: { keep_raw_days: 30, raw_events: 1_234_567, raw_events_expired: 1_100_000 },
      },
    },
    errors: ['unknown_company'],
  },
  getCompanyUsage: {
    method: 'GET',
    path: '/admin/api/v1/companies/:id/usage',
    auth: 'admin',
    roles,
    over: 'company of path',
    tag: 'Admin',
    summary: 'Use of a month against the quota',
    params,
    query: usageQuery,
    answers: {
      200: {
        schema: { CompanyUsage },
        description: 'The use of the month. A month long gone counts 0.',
        example: {
          ...{ company_id: 'co_1', month: '2026-06', used: 1_234_567, rejected: 21, body_bytes: 617_283_500 },
          ...{ monthly_quota: 50_000_000, body_bytes_max: 204_800_000_000 },
        },
      },
    },
    errors: ['unknown_company'],
  },
} satisfies Routes
