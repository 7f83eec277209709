import { CostReply, CostUpload } from '@tributary/contracts/costs'
import { limits } from '@tributary/contracts/limits'
import type { Routes } from '@tributary/contracts/route'
import { wireBody } from '@tributary/gateway/read-wire'
import { requireServerKey, uploadsCosts } from '@tributary/gateway/server-key'
import type { ServerKeyCredential } from '@tributary/tenancy/credentials/credentials'
import type { FastifyInstance } from 'fastify'
import { exampleEvent, serverHeaders } from '../declared-parts.ts'
import type { RouteDeps } from '../deps.ts'

const cost = { day: '2026-06-01', partner: 'acme', campaign: 'spring', country: 'DE', cost: 120.5, currency: 'EUR' }

export const costRoutes = {
  putCosts: {
    method: 'PUT',
    path: '/api/v1/costs',
    auth: 's2s',
    tag: 'Costs',
    summary: 'Up to 1000 costs of ads',
    description:
      'A cost is named by day, partner, campaign, ad group and country. Of several uploads of one, that with the greatest `as_of_ms` counts whole; among equals the last one. So the same upload may come again. Needs a key with the scope `costs:write`. At most 4 MiB, inflated too. Counts as one request of the key, and not toward the quota.',
    headers: serverHeaders,
    body: {
      schema: { CostUpload },
      description: 'JSON, gzipped or not.',
      bytes_max: limits.costs_body_bytes_max,
      examples: { 'two costs': { costs: [cost, { ...cost, country: 'FR' }], as_of_ms: exampleEvent.event_ts_ms } },
    },
    answers: {
      200: {
        schema: { CostReply },
        description: 'Every accepted cost is durable, and reports see it.',
        example: {
          accepted: 1,
          rejected: 1,
          results: [
            { status: 'accepted' },
            {
              status: 'rejected',
              reason: 'bad_country',
              field: 'country',
              message: 'country is a code of ISO 3166-1.',
            },
          ],
        } satisfies CostReply,
      },
    },
    errors: ['request_timeout', 'unsupported_encoding', 'bad_gzip', 'bad_batch_shape', 'too_many_costs'],
  },
} satisfies Routes

const { putCosts } = costRoutes

/** PUT /api/v1/costs. 200 means that the accepted costs are durable and that reports see them; no quota is asked. */
export function costsRoute(app: FastifyInstance, deps: RouteDeps) {
  const { bodies, costs: store, now } = deps
  // Steps of docs/rules.md#order-of-checks: 1. and 2. bearer and key, 3. rate of the key, its scope, 4. size on the wire
  const options = { bodyLimit: putCosts.body.bytes_max, onRequest: requireServerKey(deps, uploadsCosts) }
  app.put(putCosts.path, options, async (request): Promise<CostReply> => {
    const { app_id, company_id } = request.serverKey as ServerKeyCredential
    const received_at_ms = now()
    const input = { facts: { app_id, company_id }, received_at_ms }
    // 5. to 8.: gunzip, JSON, shape, each cost
    const judged = await bodies.judge('costs', wireBody(request), input, (bytes) => request.takeShare(bytes))
    const { costs, as_of_ms, answer } = judged
    // 9. stored, 10. answer: no later upload has a lower number
    if (costs.length > 0) await store.store({ app_id, as_of_ms, uploaded_at_ms: received_at_ms, costs })
    return answer
  })
}
