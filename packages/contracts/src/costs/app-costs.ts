import { z } from 'zod'
import { created_at_ms } from '../admin/admin-fields.ts'
import { marketers } from '../admin/people/roles.ts'
import { appParams } from '../admin/rows/app-params.ts'
import { limits } from '../limits.ts'
import type { Routes } from '../routes/route.ts'
import { CostReply } from './costs.ts'

const AppCosts = z.looseObject({
  costs: z.array(z.unknown()).describe(`Up to ${limits.costs_max} costs with the fields of \`PUT /api/v1/costs\`.`),
  as_of_ms: z.number().nullish().describe('Time of the figures, as of `PUT /api/v1/costs`.'),
})

const cost = { day: '2026-06-01', partner: 'acme', campaign: 'spring', country: 'DE', cost: 120.5, currency: 'EUR' }

/** Costs from a person, as the panel uploads them. */
export const appCostRoutes = {
  uploadCosts: {
    method: 'PUT',
    path: '/admin/api/v1/apps/:app_id/costs',
    auth: 'admin',
    roles: marketers,
    over: 'app of path',
    tag: 'Admin',
    summary: 'Upload costs of ads',
    description:
      'As `PUT /api/v1/costs`, which takes a server key. The audit log names who uploaded, how many costs and of which days; an upload without an accepted cost has no entry.',
    params: appParams,
    body: {
      schema: { AppCosts },
      bytes_max: limits.costs_body_bytes_max,
      examples: { example: { costs: [cost], as_of_ms: created_at_ms } },
    },
    answers: {
      200: {
        schema: { CostReply },
        description: 'Every accepted cost is durable, and reports see it.',
        example: { accepted: 1, rejected: 0, results: [{ status: 'accepted' }] } satisfies CostReply,
      },
    },
    errors: ['unknown_app', 'bad_batch_shape', 'too_many_costs'],
  },
} satisfies Routes
