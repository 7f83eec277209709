import type { Operation } from '../operation.ts'
import { body, change, created_at_ms, pathId, read, type Shown } from './admin-operation.ts'

const company = {
  company_id: 'co_1',
  company_key: `co_live_${'0'.repeat(32)}`,
  plan: 'growth',
  monthly_quota: 50_000_000,
}
const companyNow = { ...company, name: 'Example Games', status: 'active', created_at_ms }
const status = (value: 'active' | 'suspended'): Shown => ({
  schema: 'CompanyStatus',
  description: 'The state of the company now.',
  example: { company_id: 'co_1', status: value },
})

/** The routes of companies and their use. */
export const companyOperations: readonly Operation[] = [
  change({
    path: '/companies',
    id: 'createCompany',
    summary: 'Make a company',
    body: body('CreateCompany', { name: 'Example Games', plan: 'growth' }),
    shown: { schema: 'CompanyCreated', description: 'The company.', example: company },
    errors: ['bad_json', 'invalid_field'],
  }),
  read({
    path: '/companies',
    id: 'listCompanies',
    summary: 'All companies',
    shown: {
      schema: 'CompanyList',
      description: 'In the order in which they were made.',
      example: { companies: [companyNow] },
    },
  }),
  read({
    path: '/companies/{id}',
    id: 'getCompany',
    summary: 'One company',
    parameters: [pathId('company', 'co_1')],
    shown: { schema: 'Company', description: 'The company as it is now.', example: companyNow },
    errors: ['unknown_company', 'not_found'],
  }),
  change({
    method: 'patch',
    path: '/companies/{id}',
    id: 'changeCompany',
    summary: 'Change the plan or the quota of a company',
    description:
      'Changes what is given and nothing else, for all gateways at once. A plan brings its quota; `monthly_quota`, with it or later, replaces that.',
    parameters: [pathId('company', 'co_1')],
    body: body('ChangeCompany', { plan: 'growth' }),
    shown: { schema: 'Company', description: 'The company as it is now.', example: companyNow },
    errors: ['bad_json', 'invalid_field', 'unknown_company', 'not_found'],
  }),
  change({
    path: '/companies/{id}/suspend',
    id: 'suspendCompany',
    summary: 'Suspend a company',
    description: 'Within 10 s all its keys answer `company_suspended`. May be repeated.',
    parameters: [pathId('company', 'co_1')],
    shown: status('suspended'),
    errors: ['unknown_company', 'not_found'],
  }),
  change({
    path: '/companies/{id}/reinstate',
    id: 'reinstateCompany',
    summary: 'Reinstate a company',
    description: 'Its keys work again. May be repeated.',
    parameters: [pathId('company', 'co_1')],
    shown: status('active'),
    errors: ['unknown_company', 'not_found'],
  }),
  read({
    path: '/companies/{id}/usage',
    id: 'getCompanyUsage',
    summary: 'Use of a month against the quota',
    parameters: [
      pathId('company', 'co_1'),
      {
        name: 'month',
        in: 'query',
        description: '`yyyy-mm`, UTC; the present month by default.',
        schema: { type: 'string', pattern: '^20\\d\\d-(0[1-9]|1[0-2])$' },
        example: '2026-06',
      },
    ],
    shown: {
      schema: 'CompanyUsage',
      description: 'What was used. A month long gone counts 0.',
      example: { company_id: 'co_1', month: '2026-06', used: 1_234_567, rejected: 21, monthly_quota: 50_000_000 },
    },
    errors: ['unknown_company', 'invalid_field', 'not_found'],
  }),
]
